package rewrite

import (
	"regexp"
	"strings"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"

	"shoal/sql/duckdb"
)

// loadTemplates are the functions that load expressions have beyond templates:
// Doris's own, and those that a SELECT leaves to DuckDB as they are.
var loadTemplates = map[string]template{
	// Texts.
	"split_part/3":                     {text, "list_extract(string_split($t1, $t2), $i3)"},
	"starts_with/2":                    {boolean, "starts_with($t1, $t2)"},
	"ends_with/2":                      {boolean, "ends_with($t1, $t2)"},
	"ltrim/2":                          {text, "ltrim($t1, $t2)"},
	"rtrim/2":                          {text, "rtrim($t1, $t2)"},
	"strleft/2":                        {text, "CASE WHEN $i2 > 0 THEN left($t1, $i2) ELSE left($t1, $i2 * 0) END"},
	"strright/2":                       {text, "CASE WHEN $i2 > 0 THEN right($t1, $i2) ELSE left($t1, $i2 * 0) END"},
	"initcap/1":                        {text, "array_to_string(list_transform(regexp_extract_all(lower($t1), '[\\p{L}\\p{N}]+|[^\\p{L}\\p{N}]+'), lambda w: upper(left(w, 1)) || substr(w, 2)), '')"},
	"regexp_replace_one/3":             {text, "regexp_replace($t1, $t2, $t3)"},
	"regexp_extract_all/2":             {list, "regexp_extract_all($t1, $t2, 1)"},
	"regexp_count/2":                   {integer, "len(regexp_extract_all($t1, $t2))"},
	"translate/3":                      {text, "translate($t1, $t2, $t3)"},
	"null_or_empty/1":                  {boolean, "(coalesce($t1, '') = '')"},
	"not_null_or_empty/1":              {boolean, "(coalesce($t1, '') <> '')"},
	"to_base64/1":                      {text, "to_base64(encode($t1))"},
	"from_base64/1":                    {text, "decode(TRY(from_base64($t1)))"},
	"md5sum/1":                         {text, "md5($t1)"},
	"url_decode/1":                     {text, "url_decode($t1)"},
	"url_encode/1":                     {text, "url_encode($t1)"},
	"bit_length/1":                     {integer, "(strlen($t1) * 8)"},
	"append_trailing_char_if_absent/2": {text, "CASE WHEN ends_with($t1, $t2) THEN $t1 ELSE $t1 || $t2 END"},

	// Numbers.
	"abs/1":             {ofNumbers, "abs($n1)"},
	"ceil/1":            {ofNumbers, "ceil($n1)"},
	"floor/1":           {ofNumbers, "floor($n1)"},
	"round/1":           {ofNumbers, "round($n1)"},
	"sign/1":            {integer, "sign($n1)"},
	"sqrt/1":            {double, "CASE WHEN $n1 >= 0 THEN sqrt($n1) END"},
	"cbrt/1":            {double, "cbrt($n1)"},
	"exp/1":             {double, "exp($n1)"},
	"ln/1":              {double, "CASE WHEN $n1 > 0 THEN ln($n1) END"},
	"log2/1":            {double, "CASE WHEN $n1 > 0 THEN log2($n1) END"},
	"log10/1":           {double, "CASE WHEN $n1 > 0 THEN log10($n1) END"},
	"power/2":           {double, "power($n1, $n2)"},
	"pow/2":             {double, "power($n1, $n2)"},
	"pmod/2":            {ofNumbers, "((($n1 % NULLIF($n2, 0)) + $n2) % NULLIF($n2, 0))"},
	"sin/1":             {double, "sin($n1)"},
	"cos/1":             {double, "cos($n1)"},
	"tan/1":             {double, "tan($n1)"},
	"asin/1":            {double, "CASE WHEN abs($n1) <= 1 THEN asin($n1) END"},
	"acos/1":            {double, "CASE WHEN abs($n1) <= 1 THEN acos($n1) END"},
	"atan/1":            {double, "atan($n1)"},
	"atan2/2":           {double, "atan2($n1, $n2)"},
	"radians/1":         {double, "radians($n1)"},
	"degrees/1":         {double, "degrees($n1)"},
	"pi/0":              {double, "pi()"},
	"bitand/2":          {integer, "($i1 & $i2)"},
	"bitor/2":           {integer, "($i1 | $i2)"},
	"bitxor/2":          {integer, "xor($i1, $i2)"},
	"bitnot/1":          {integer, "(~ $i1)"},
	"bit_count/1":       {integer, "bit_count($i1)"},
	"bit_shift_left/2":  {integer, "($i1 << $i2)"},
	"bit_shift_right/2": {integer, "($i1 >> $i2)"},

	// Dates and times.
	"to_date/1":           {date, "$a1"},
	"to_monday/1":         {date, "CAST(date_trunc('week', $d1) AS DATE)"},
	"days_add/2":          {datetime, "($d1 + to_days(CAST($i2 AS INTEGER)))"},
	"days_sub/2":          {datetime, "($d1 - to_days(CAST($i2 AS INTEGER)))"},
	"weeks_add/2":         {datetime, "($d1 + to_weeks(CAST($i2 AS INTEGER)))"},
	"weeks_sub/2":         {datetime, "($d1 - to_weeks(CAST($i2 AS INTEGER)))"},
	"months_add/2":        {datetime, "($d1 + to_months(CAST($i2 AS INTEGER)))"},
	"months_sub/2":        {datetime, "($d1 - to_months(CAST($i2 AS INTEGER)))"},
	"years_add/2":         {datetime, "($d1 + to_years(CAST($i2 AS INTEGER)))"},
	"years_sub/2":         {datetime, "($d1 - to_years(CAST($i2 AS INTEGER)))"},
	"hours_add/2":         {datetime, "($d1 + to_hours($i2))"},
	"hours_sub/2":         {datetime, "($d1 - to_hours($i2))"},
	"minutes_add/2":       {datetime, "($d1 + to_minutes($i2))"},
	"minutes_sub/2":       {datetime, "($d1 - to_minutes($i2))"},
	"seconds_add/2":       {datetime, "($d1 + to_seconds($i2))"},
	"seconds_sub/2":       {datetime, "($d1 - to_seconds($i2))"},
	"milliseconds_add/2":  {datetime, "($d1 + to_milliseconds($i2))"},
	"milliseconds_sub/2":  {datetime, "($d1 - to_milliseconds($i2))"},
	"microseconds_add/2":  {datetime, "($d1 + to_microseconds($i2))"},
	"microseconds_sub/2":  {datetime, "($d1 - to_microseconds($i2))"},
	"years_diff/2":        {integer, "date_sub('year', $d2, $d1)"},
	"months_diff/2":       {integer, "date_sub('month', $d2, $d1)"},
	"weeks_diff/2":        {integer, "date_sub('week', $d2, $d1)"},
	"days_diff/2":         {integer, "date_sub('day', $d2, $d1)"},
	"hours_diff/2":        {integer, "date_sub('hour', $d2, $d1)"},
	"minutes_diff/2":      {integer, "date_sub('minute', $d2, $d1)"},
	"seconds_diff/2":      {integer, "date_sub('second', $d2, $d1)"},
	"milliseconds_diff/2": {integer, "date_sub('millisecond', $d2, $d1)"},
	"microseconds_diff/2": {integer, "date_sub('microsecond', $d2, $d1)"},

	// JSON. Those of MySQL fail on what is no JSON, those of Doris are NULL.
	"json_extract/2":             {json, "json_extract($j1, $p2)"},
	"jsonb_extract/2":            {json, "json_extract(TRY_CAST($j1 AS JSON), $p2)"},
	"json_extract_isnull/2":      {boolean, "(json_type(TRY_CAST($j1 AS JSON), $p2) = 'NULL')"},
	"json_exists_path/2":         {boolean, "json_exists(TRY_CAST($j1 AS JSON), $p2)"},
	"json_valid/1":               {integer, "CAST(json_valid($t1) AS BIGINT)"},
	"json_parse/1":               {json, "CAST($t1 AS JSON)"},
	"json_parse_error_to_null/1": {json, "TRY_CAST($t1 AS JSON)"},
	"to_json/1":                  {json, "to_json($1)"},
	"json_type/1":                {text, "json_type($j1)"},
	"json_keys/1":                {list, "json_keys($j1)"},
	"json_contains/2":            {boolean, "json_contains(CAST($j1 AS JSON), CAST($j2 AS JSON))"},
	"json_quote/1":               {text, "CAST(to_json($t1) AS VARCHAR)"},
	"json_length/2":              {integer, "CASE WHEN json_type($j1, $p2) = 'ARRAY' THEN CAST(json_array_length($j1, $p2) AS BIGINT) WHEN json_type($j1, $p2) = 'OBJECT' THEN len(json_keys($j1, $p2)) WHEN json_type($j1, $p2) IS NOT NULL THEN 1 END"},

	// Arrays and maps.
	"size/1":             {integer, "len($l1)"},
	"array_size/1":       {integer, "len($l1)"},
	"cardinality/1":      {integer, "len($l1)"},
	"map_size/1":         {integer, "cardinality($m1)"},
	"array_join/2":       {text, "array_to_string($l1, $q2)"},
	"split_by_string/2":  {list, "string_split($t1, $t2)"},
	"array_sort/1":       {list, "list_sort($l1)"},
	"array_reverse/1":    {list, "list_reverse($l1)"},
	"array_min/1":        {unknown, "list_min($l1)"},
	"array_max/1":        {unknown, "list_max($l1)"},
	"array_sum/1":        {double, "list_sum(TRY_CAST($l1 AS DOUBLE[]))"},
	"array_avg/1":        {double, "list_avg(TRY_CAST($l1 AS DOUBLE[]))"},
	"array_distinct/1":   {list, "list_filter($l1, lambda x, i: list_position($l1, x) = i)"},
	"array_slice/3":      {list, "list_slice($l1, $i2, $i2 + $i3 - 1)"},
	"map_keys/1":         {list, "map_keys($m1)"},
	"map_values/1":       {list, "map_values($m1)"},
	"map_contains_key/2": {boolean, "list_contains(CAST(map_keys($m1) AS VARCHAR[]), $t2)"},
}

// jsonGetters are the functions that take a value out of JSON as text, and what
// becomes of the text. Each has three names in Doris.
var jsonGetters = map[string]template{
	"string":   {text, "$"},
	"int":      {integer, toWhole("$", text, "INTEGER")},
	"bigint":   {integer, toWhole("$", text, "BIGINT")},
	"largeint": {decimal, toWhole("$", text, "DECIMAL(38,0)")},
	"double":   {double, "TRY_CAST($ AS DOUBLE)"},
	"bool":     {boolean, "TRY_CAST($ AS BOOLEAN)"},
}

func init() {
	for name, getter := range jsonGetters {
		sql := strings.Replace(getter.sql, "$", "json_extract_string(TRY_CAST($j1 AS JSON), $p2)", 1)
		for _, prefix := range []string{"get_json_", "json_extract_", "jsonb_extract_"} {
			loadTemplates[prefix+name+"/2"] = template{getter.result, sql}
		}
	}
}

// jsonPath prints a path of JSON, all its names quoted. Paths that are met
// while rows are read would fail there, and those with a wildcard have many
// values.
func jsonPath(node tidb.ExprNode) string {
	path, ok := stringLiteral(node)
	if !ok {
		unsupported("a JSON path that is no literal")
	}
	rest, ok := strings.CutPrefix(path, "$")
	if rest == "." { // Doris takes it for the root too
		rest = ""
	}
	var b strings.Builder
	b.WriteString("$")
	for rest != "" && ok {
		step := pathStep.FindStringSubmatch(rest)
		if ok = step != nil; !ok {
			break
		}
		rest = rest[len(step[0]):]
		if index := step[3]; index != "" {
			b.WriteString("[" + index + "]")
			continue
		}
		b.WriteString(`."` + step[1] + step[2] + `"`)
	}
	if !ok {
		unsupported("the JSON path %q, which is not of the form $.name[0].\"name with dots\",", path)
	}
	return duckdb.QuoteString(b.String())
}

// pathStep is a name, a quoted name or an index.
var pathStep = regexp.MustCompile(`^(?:\.([^."\[\]*\\]+)|\."([^"*\\]+)"|\.?\[(\d+)\])`)
