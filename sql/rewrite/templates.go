package rewrite

import (
	"strconv"
	"strings"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"
)

// template is a function that is an expression over its arguments in DuckDB. $1
// is the first argument as it is; a letter before the number converts it: t to
// a text, n to a number, i to an integer, d to a date with time, a to a date, b
// to true or false, j to JSON, l to an array, m to a map; p makes a path of JSON
// of a literal, and q is a text that must be one. Only a load expression has all of them converted, see
// printer.as.
type template struct {
	result kind
	sql    string
}

// templates are the functions by name and number of arguments. Other numbers
// of arguments are refused.
//
// A text that an argument could make as long as it likes is NULL above 16 MiB,
// as beyond MySQL's max_allowed_packet: DuckDB's limit of memory does not hold
// while it is made.
var templates = map[string]template{
	"ifnull/2": {ofAll, "coalesce($1, $2)"},
	"nvl/2":    {ofAll, "coalesce($1, $2)"},
	"isnull/1": {boolean, "($1 IS NULL)"},

	"locate/2":           {integer, "strpos($t2, $t1)"},
	"position/2":         {integer, "strpos($t2, $t1)"},
	"instr/2":            {integer, "strpos($t1, $t2)"},
	"locate/3":           {integer, "CASE WHEN $i3 <= 0 OR strpos(substr($t2, $i3), $t1) = 0 THEN 0 ELSE strpos(substr($t2, $i3), $t1) + $i3 - 1 END"},
	"substring/2":        {text, "CASE WHEN $i2 > 0 OR $i2 BETWEEN -length($t1) AND -1 THEN substr($t1, $i2) ELSE left($t1, $i2 * 0) END"},
	"substring/3":        {text, "CASE WHEN ($i2 > 0 OR $i2 BETWEEN -length($t1) AND -1) AND $i3 > 0 THEN substr($t1, $i2, $i3) ELSE left($t1, $i2 * $i3 * 0) END"},
	"substr/2":           {text, "CASE WHEN $i2 > 0 OR $i2 BETWEEN -length($t1) AND -1 THEN substr($t1, $i2) ELSE left($t1, $i2 * 0) END"},
	"substr/3":           {text, "CASE WHEN ($i2 > 0 OR $i2 BETWEEN -length($t1) AND -1) AND $i3 > 0 THEN substr($t1, $i2, $i3) ELSE left($t1, $i2 * $i3 * 0) END"},
	"mid/3":              {text, "CASE WHEN ($i2 > 0 OR $i2 BETWEEN -length($t1) AND -1) AND $i3 > 0 THEN substr($t1, $i2, $i3) ELSE left($t1, $i2 * $i3 * 0) END"},
	"left/2":             {text, "CASE WHEN $i2 > 0 THEN left($t1, $i2) ELSE left($t1, $i2 * 0) END"},
	"right/2":            {text, "CASE WHEN $i2 > 0 THEN right($t1, $i2) ELSE left($t1, $i2 * 0) END"},
	"length/1":           {integer, "strlen($t1)"},
	"octet_length/1":     {integer, "strlen($t1)"},
	"char_length/1":      {integer, "length($t1)"},
	"character_length/1": {integer, "length($t1)"},
	"upper/1":            {text, "upper($t1)"},
	"ucase/1":            {text, "upper($t1)"},
	"lower/1":            {text, "lower($t1)"},
	"lcase/1":            {text, "lower($t1)"},
	"reverse/1":          {text, "reverse($t1)"},
	"replace/3":          {text, "replace($t1, $t2, $t3)"},
	"repeat/2":           {text, "CASE WHEN $i2 <= 16777216 // greatest(strlen($t1), 1) THEN repeat($t1, $i2) END"},
	"space/1":            {text, "CASE WHEN $i1 <= 16777216 THEN repeat(' ', $i1) END"},
	"ascii/1":            {integer, "ascii($t1)"},
	"ord/1":              {integer, "ascii($t1)"},
	"lpad/3":             {text, "CASE WHEN $i2 BETWEEN 0 AND 4194304 THEN lpad($t1, CAST($i2 AS INTEGER), $t3) END"},
	"rpad/3":             {text, "CASE WHEN $i2 BETWEEN 0 AND 4194304 THEN rpad($t1, CAST($i2 AS INTEGER), $t3) END"},
	"ltrim/1":            {text, "ltrim($t1)"},
	"rtrim/1":            {text, "rtrim($t1)"},
	"trim/1":             {text, "trim($t1)"},
	"strcmp/2":           {integer, "CASE WHEN $t1 = $t2 THEN 0 WHEN $t1 < $t2 THEN -1 WHEN $t1 > $t2 THEN 1 END"},
	"find_in_set/2":      {integer, "CASE WHEN $t2 IS NOT NULL AND $t1 IS NOT NULL THEN coalesce(list_position(string_split($t2, ','), $t1), 0) END"},
	"substring_index/3":  {text, "array_to_string(CASE WHEN $i3 > 0 THEN list_slice(string_split($t1, $t2), 1, $i3) WHEN $i3 < 0 THEN list_slice(string_split($t1, $t2), $i3, 2147483647) ELSE list_slice(string_split($t1, $t2), 1, $i3) END, $q2)"},
	"regexp_like/2":      {boolean, "regexp_matches($t1, $t2)"},
	"regexp_replace/3":   {text, "regexp_replace($t1, $t2, $t3, 'g')"},
	"regexp_substr/2":    {text, "nullif(regexp_extract($t1, $t2), '')"},
	"sha/1":              {text, "sha1($t1)"},
	"md5/1":              {text, "md5($t1)"},
	"sha1/1":             {text, "sha1($t1)"},
	"unhex/1":            {text, "decode(TRY(unhex($t1)))"},
	"bin/1":              {text, "bin($i1)"},

	"mod/2":      {ofNumbers, "($n1 % NULLIF($n2, 0))"},
	"ceiling/1":  {ofNumbers, "ceil($n1)"},
	"truncate/2": {double, "(trunc($n1 * power(10, $n2)) / power(10, $n2))"},
	"log/1":      {double, "CASE WHEN $n1 > 0 THEN ln($n1) END"},
	"log/2":      {double, "CASE WHEN $n1 > 0 AND $n1 <> 1 AND $n2 > 0 THEN ln($n2) / ln($n1) END"},

	"json_length/1":      {integer, "CASE WHEN json_type($j1) = 'ARRAY' THEN CAST(json_array_length($j1) AS BIGINT) WHEN json_type($j1) = 'OBJECT' THEN len(json_keys($j1)) WHEN $j1 IS NOT NULL THEN 1 END"},
	"json_contains/2":    {boolean, shallow("json_contains(CAST($j1 AS JSON), CAST($j2 AS JSON))", "BOOLEAN")},
	"json_merge_patch/2": {json, shallow("json_merge_patch(CAST($j1 AS JSON), CAST($j2 AS JSON))", "JSON")},

	tidb.DateLiteral + "/1":      {date, "$a1"},
	tidb.TimestampLiteral + "/1": {datetime, "$d1"},
	tidb.TimeLiteral + "/1":      {clock, "CAST($1 AS TIME)"},
	"date/1":                     {date, "$a1"},
	"time/1":                     {clock, "CAST($d1 AS TIME)"},
	"timestamp/1":                {datetime, "$d1"},
	"year/1":                     {integer, "year($d1)"},
	"quarter/1":                  {integer, "quarter($d1)"},
	"month/1":                    {integer, "month($d1)"},
	"day/1":                      {integer, "day($d1)"},
	"dayofmonth/1":               {integer, "day($d1)"},
	"dayofyear/1":                {integer, "dayofyear($d1)"},
	"hour/1":                     {integer, "hour($d1)"},
	"minute/1":                   {integer, "minute($d1)"},
	"second/1":                   {integer, "second($d1)"},
	"microsecond/1":              {integer, "(microsecond($d1) % 1000000)"},
	"dayofweek/1":                {integer, "(dayofweek($d1) + 1)"},
	"weekday/1":                  {integer, "(isodow($d1) - 1)"},
	"dayname/1":                  {text, "dayname($d1)"},
	"monthname/1":                {text, "monthname($d1)"},
	"last_day/1":                 {date, "last_day($d1)"},
	"week/1":                     {integer, "CAST(strftime($d1, '%U') AS INTEGER)"},
	"weekofyear/1":               {integer, "week($d1)"},
	"yearweek/1":                 {integer, "CAST(CASE WHEN strftime($d1, '%U') = '00' THEN strftime(make_date(year($d1) - 1, 12, 31), '%Y%U') ELSE strftime($d1, '%Y%U') END AS INTEGER)"},
	"datediff/2":                 {integer, "date_diff('day', $a2, $a1)"},
	"timediff/2":                 {clock, "to_microseconds(epoch_us($d1) - epoch_us($d2))"},
	"makedate/2":                 {date, "(make_date($i1, 1, 1) + CAST($i2 AS INTEGER) - 1)"},
	"to_days/1":                  {integer, "(date_diff('day', DATE '0001-01-01', $a1) + 366)"},
	"from_days/1":                {date, "(DATE '0001-01-01' + CAST($i1 - 366 AS INTEGER))"},
}

// shallow guards a function of two JSON values in which DuckDB recurses: from a
// depth of some ten thousand on, its stack and with it the process would end.
// What has so many brackets fails, by a cast to the function's type.
func shallow(call, result string) string {
	fits := func(arg string) string {
		text := cast(arg, "VARCHAR")
		return "strlen(" + text + ") - strlen(translate(" + text + ", '[{', '')) <= 10000"
	}
	return "CASE WHEN " + fits("$j1") + " AND " + fits("$j2") + " THEN " + call +
		" WHEN $j1 IS NOT NULL AND $j2 IS NOT NULL THEN " + cast("'JSON with more than 10000 brackets'", result) + " END"
}

// volatile are the functions whose every call gives something else.
var volatile = map[string]template{
	"rand/0":  {double, "random()"},
	"uuid/0":  {text, "CAST(uuid() AS VARCHAR)"},
	"sleep/1": {integer, "CASE WHEN sleep_ms(CAST($1 * 1000 AS BIGINT)) IS NULL THEN 0 END"},
}

// known are the functions whose other forms mean something else in DuckDB.
var (
	known         = namesOf(templates, dorisTemplates, volatile)
	volatileNames = namesOf(volatile)
)

func namesOf(tables ...map[string]template) map[string]bool {
	names := map[string]bool{}
	for _, table := range tables {
		for key := range table {
			name, _, _ := strings.Cut(key, "/")
			names[name] = true
		}
	}
	return names
}

// templateOf finds the template of a call.
func (p *printer) templateOf(n *tidb.FuncCallExpr) (template, bool) {
	key := n.FnName.L + "/" + strconv.Itoa(len(n.Args))
	t, ok := templates[key]
	if !ok {
		t, ok = dorisTemplates[key]
	}
	if !ok && p.scope == nil {
		t, ok = volatile[key]
	}
	if !ok && p.scope != nil {
		t, ok = loadTemplates[key]
	}
	return t, ok
}

// letters are the conversions that a template asks for.
var letters = map[byte]kind{'t': text, 'n': double, 'i': integer, 'd': datetime, 'a': date, 'b': boolean, 'j': json, 'l': list, 'm': mapping, 'p': path, 'q': constant}

// fill puts the arguments into a template.
func (p *printer) fill(t template, args []tidb.ExprNode) string {
	printed := p.args(args)
	if t.result == ofAll {
		printed = p.results(args)
	}
	var b strings.Builder
	rest := t.sql
	for {
		before, after, found := strings.Cut(rest, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		to, converts := letters[after[0]]
		if converts {
			after = after[1:]
		}
		i := int(after[0]) - '1'
		switch {
		case i < 0 || i >= len(args): // the root of a JSON path
			b.WriteString("$")
			rest = after
			continue
		case to == path && converts:
			b.WriteString(jsonPath(args[i]))
		case to == constant && converts:
			b.WriteString(p.constant(args[i], printed[i]))
		case converts:
			b.WriteString(p.as(to, args[i], printed[i]))
		default:
			b.WriteString(printed[i])
		}
		rest = after[1:]
	}
}

// constant prints a text that DuckDB must know beforehand.
func (p *printer) constant(node tidb.ExprNode, printed string) string {
	if _, ok := stringLiteral(node); !ok && p.scope != nil {
		unsupported("a separator that is no literal")
	}
	return printed
}
