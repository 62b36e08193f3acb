package rewrite

// dorisTemplates are Doris's own functions, which DuckDB has not under these
// names: in queries as in load expressions.
var dorisTemplates = withGetters(map[string]template{
	// Texts.
	"strleft/2":                        {text, "CASE WHEN $i2 > 0 THEN left($t1, $i2) ELSE left($t1, $i2 * 0) END"},
	"strright/2":                       {text, "CASE WHEN $i2 > 0 THEN right($t1, $i2) ELSE left($t1, $i2 * 0) END"},
	"initcap/1":                        {text, "array_to_string(list_transform(regexp_extract_all(lower($t1), '[\\p{L}\\p{N}]+|[^\\p{L}\\p{N}]+'), lambda w: upper(left(w, 1)) || substr(w, 2)), '')"},
	"regexp_replace_one/3":             {text, "regexp_replace($t1, $t2, $t3)"},
	"regexp_count/2":                   {integer, "len(regexp_extract_all($t1, $t2))"},
	"null_or_empty/1":                  {boolean, "(coalesce($t1, '') = '')"},
	"not_null_or_empty/1":              {boolean, "(coalesce($t1, '') <> '')"},
	"md5sum/1":                         {text, "md5($t1)"},
	"append_trailing_char_if_absent/2": {text, "CASE WHEN ends_with($t1, $t2) THEN $t1 ELSE $t1 || $t2 END"},

	// Numbers.
	"pmod/2":            {ofNumbers, "((($n1 % NULLIF($n2, 0)) + $n2) % NULLIF($n2, 0))"},
	"bitand/2":          {integer, "($i1 & $i2)"},
	"bitor/2":           {integer, "($i1 | $i2)"},
	"bitxor/2":          {integer, "xor($i1, $i2)"},
	"bitnot/1":          {integer, "(~ $i1)"},
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
	"jsonb_extract/2":            {json, "json_extract(TRY_CAST($j1 AS JSON), $p2)"},
	"json_extract_isnull/2":      {boolean, "(json_type(TRY_CAST($j1 AS JSON), $p2) = 'NULL')"},
	"json_exists_path/2":         {boolean, "json_exists(TRY_CAST($j1 AS JSON), $p2)"},
	"json_parse/1":               {json, "CAST($t1 AS JSON)"},
	"json_parse_error_to_null/1": {json, "TRY_CAST($t1 AS JSON)"},

	// Arrays and maps.
	"size/1":             {integer, "len($l1)"},
	"array_size/1":       {integer, "len($l1)"},
	"map_size/1":         {integer, "cardinality($m1)"},
	"array_join/2":       {text, "array_to_string($l1, $q2)"},
	"split_by_string/2":  {list, "string_split($t1, $t2)"},
	"array_min/1":        {unknown, "list_min($l1)"},
	"array_max/1":        {unknown, "list_max($l1)"},
	"array_sum/1":        {double, "list_sum(TRY_CAST($l1 AS DOUBLE[]))"},
	"array_avg/1":        {double, "list_avg(TRY_CAST($l1 AS DOUBLE[]))"},
	"map_contains_key/2": {boolean, "list_contains(CAST(map_keys($m1) AS VARCHAR[]), $t2)"},
})

// jsonGetters are the functions that take a value out of JSON, and what becomes
// of its text. Each has three names in Doris.
var jsonGetters = map[string]template{
	"string":   {text, jsonAt},
	"int":      {integer, toWhole(jsonAt, text, "INTEGER")},
	"bigint":   {integer, toWhole(jsonAt, text, "BIGINT")},
	"largeint": {decimal, toWhole(jsonAt, text, "DECIMAL(38,0)")},
	"double":   {double, "TRY_CAST(" + jsonAt + " AS DOUBLE)"},
	"bool":     {boolean, "TRY_CAST(" + jsonAt + " AS BOOLEAN)"},
}

const jsonAt = "json_extract_string(TRY_CAST($j1 AS JSON), $p2)"

// withGetters adds the getters but for the one whose name DuckDB has too.
func withGetters(doris map[string]template) map[string]template {
	for name, getter := range jsonGetters {
		for _, prefix := range []string{"get_json_", "json_extract_", "jsonb_extract_"} {
			doris[prefix+name+"/2"] = getter
		}
	}
	delete(doris, "json_extract_string/2")
	return doris
}
