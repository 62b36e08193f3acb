package rewrite

import (
	"regexp"
	"strings"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"

	"shoal/sql/duckdb"
)

// loadTemplates are the functions that load expressions have beyond templates
// and dorisTemplates: those that a SELECT leaves to DuckDB as they are.
var loadTemplates = map[string]template{
	// Texts.
	"split_part/3":         {text, "list_extract(string_split($t1, $t2), $i3)"},
	"starts_with/2":        {boolean, "starts_with($t1, $t2)"},
	"ends_with/2":          {boolean, "ends_with($t1, $t2)"},
	"ltrim/2":              {text, "ltrim($t1, $t2)"},
	"rtrim/2":              {text, "rtrim($t1, $t2)"},
	"regexp_extract_all/2": {list, "regexp_extract_all($t1, $t2, 1)"},
	"translate/3":          {text, "translate($t1, $t2, $t3)"},
	"to_base64/1":          {text, "to_base64(encode($t1))"},
	"from_base64/1":        {text, "decode(TRY(from_base64($t1)))"},
	"url_decode/1":         {text, "url_decode($t1)"},
	"url_encode/1":         {text, "url_encode($t1)"},
	"bit_length/1":         {integer, "(strlen($t1) * 8)"},

	// Numbers.
	"abs/1":       {ofNumbers, "abs($n1)"},
	"ceil/1":      {ofNumbers, "ceil($n1)"},
	"floor/1":     {ofNumbers, "floor($n1)"},
	"round/1":     {ofNumbers, "round($n1)"},
	"sign/1":      {integer, "sign($n1)"},
	"sqrt/1":      {double, "CASE WHEN $n1 >= 0 THEN sqrt($n1) END"},
	"cbrt/1":      {double, "cbrt($n1)"},
	"exp/1":       {double, "exp($n1)"},
	"ln/1":        {double, "CASE WHEN $n1 > 0 THEN ln($n1) END"},
	"log2/1":      {double, "CASE WHEN $n1 > 0 THEN log2($n1) END"},
	"log10/1":     {double, "CASE WHEN $n1 > 0 THEN log10($n1) END"},
	"power/2":     {double, "power($n1, $n2)"},
	"pow/2":       {double, "power($n1, $n2)"},
	"sin/1":       {double, "sin($n1)"},
	"cos/1":       {double, "cos($n1)"},
	"tan/1":       {double, "tan($n1)"},
	"asin/1":      {double, "CASE WHEN abs($n1) <= 1 THEN asin($n1) END"},
	"acos/1":      {double, "CASE WHEN abs($n1) <= 1 THEN acos($n1) END"},
	"atan/1":      {double, "atan($n1)"},
	"atan2/2":     {double, "atan2($n1, $n2)"},
	"radians/1":   {double, "radians($n1)"},
	"degrees/1":   {double, "degrees($n1)"},
	"pi/0":        {double, "pi()"},
	"bit_count/1": {integer, "bit_count($i1)"},

	// Dates and times.

	// JSON. Those of MySQL fail on what is no JSON, those of Doris are NULL.
	"json_extract/2":        {json, "json_extract($j1, $p2)"},
	"json_extract_string/2": jsonGetters["string"],
	"json_valid/1":          {integer, "CAST(json_valid($t1) AS BIGINT)"},
	"to_json/1":             {json, "to_json($1)"},
	"json_type/1":           {text, "json_type($j1)"},
	"json_keys/1":           {list, "json_keys($j1)"},
	"json_quote/1":          {text, "CAST(to_json($t1) AS VARCHAR)"},
	"json_length/2":         {integer, "CASE WHEN json_type($j1, $p2) = 'ARRAY' THEN CAST(json_array_length($j1, $p2) AS BIGINT) WHEN json_type($j1, $p2) = 'OBJECT' THEN len(json_keys($j1, $p2)) WHEN json_type($j1, $p2) IS NOT NULL THEN 1 END"},

	// Arrays and maps.
	"cardinality/1":   {integer, "len($l1)"},
	"array_sort/1":    {list, "list_sort($l1)"},
	"array_reverse/1": {list, "list_reverse($l1)"},
	// Each element is looked for among all; what is not a parameter of a lambda is computed for each element.
	"array_distinct/1": {list, "list_extract(list_transform([$l1], lambda l: list_filter(l, lambda x, i: CASE WHEN len(l) <= 10000 THEN i ELSE CAST('an array of more than 10000 elements' AS BIGINT) END = list_position(l, x))), 1)"},
	"array_slice/3":    {list, "list_slice($l1, $i2, $i2 + $i3 - 1)"},
	"map_keys/1":       {list, "map_keys($m1)"},
	"map_values/1":     {list, "map_values($m1)"},
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
