package rewrite

import (
	"fmt"
	"strconv"
	"strings"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"

	"shoal/sql/duckdb"
)

// templates are the functions that are an expression over their arguments in
// DuckDB, by name and number of arguments. $1 is the first argument, $t1 the
// same as a text, $d1 as a TIMESTAMP.
var templates = map[string]string{
	"ifnull/2": "coalesce($1, $2)", "nvl/2": "coalesce($1, $2)", "isnull/1": "($1 IS NULL)",
	"locate/2": "strpos($t2, $t1)", "position/2": "strpos($t2, $t1)", "instr/2": "strpos($t1, $t2)",
	"locate/3":    "CASE WHEN strpos(substr($t2, $3), $t1) = 0 THEN 0 ELSE strpos(substr($t2, $3), $t1) + $3 - 1 END",
	"substring/2": "substr($t1, $2)", "substring/3": "substr($t1, $2, $3)", "substr/2": "substr($t1, $2)", "substr/3": "substr($t1, $2, $3)",
	"mid/3": "substr($t1, $2, $3)", "left/2": "left($t1, $2)", "right/2": "right($t1, $2)",
	"length/1": "strlen($t1)", "octet_length/1": "strlen($t1)", "char_length/1": "length($t1)", "character_length/1": "length($t1)",
	"upper/1": "upper($t1)", "ucase/1": "upper($t1)", "lower/1": "lower($t1)", "lcase/1": "lower($t1)", "reverse/1": "reverse($t1)",
	"replace/3": "replace($t1, $t2, $t3)", "repeat/2": "repeat($t1, $2)", "space/1": "repeat(' ', $1)", "ascii/1": "ascii($t1)", "ord/1": "ascii($t1)",
	"lpad/3": "lpad($t1, $2, $t3)", "rpad/3": "rpad($t1, $2, $t3)", "ltrim/1": "ltrim($t1)", "rtrim/1": "rtrim($t1)", "trim/1": "trim($t1)",
	"strcmp/2":          "CASE WHEN $1 = $2 THEN 0 WHEN $1 < $2 THEN -1 ELSE 1 END",
	"find_in_set/2":     "coalesce(list_position(string_split($t2, ','), $t1), 0)",
	"substring_index/3": "array_to_string(CASE WHEN $3 > 0 THEN list_slice(string_split($t1, $2), 1, $3) ELSE list_slice(string_split($t1, $2), $3, 2147483647) END, $2)",
	"regexp_like/2":     "regexp_matches($t1, $2)", "regexp_replace/3": "regexp_replace($t1, $2, $3, 'g')", "regexp_substr/2": "nullif(regexp_extract($t1, $2), '')",
	"mod/2": "($1 % $2)", "rand/0": "random()", "ceiling/1": "ceil($1)", "truncate/2": "(trunc($1 * power(10, $2)) / power(10, $2))",
	"log/1": "ln($1)", "log/2": "(ln($2) / ln($1))", "sha/1": "sha1($t1)", "md5/1": "md5($t1)", "sha1/1": "sha1($t1)", "unhex/1": "CAST(unhex($1) AS VARCHAR)",
	"sleep/1": "CASE WHEN sleep_ms(CAST($1 * 1000 AS BIGINT)) IS NULL THEN 0 END",
	"uuid/0":  "CAST(uuid() AS VARCHAR)", "bin/1": "bin(CAST($1 AS BIGINT))",
	"json_unquote/1": "($1 ->> '$')", "json_length/1": "CAST(json_array_length($1) AS BIGINT)", "json_arrayagg/1": "json_group_array($1)",
	tidb.DateLiteral + "/1": "CAST($1 AS DATE)", tidb.TimestampLiteral + "/1": "CAST($1 AS TIMESTAMP)", tidb.TimeLiteral + "/1": "CAST($1 AS TIME)",
	"date/1": "CAST($1 AS DATE)", "time/1": "CAST($d1 AS TIME)", "timestamp/1": "$d1",
	"year/1": "year($d1)", "quarter/1": "quarter($d1)", "month/1": "month($d1)", "day/1": "day($d1)", "dayofmonth/1": "day($d1)", "dayofyear/1": "dayofyear($d1)",
	"hour/1": "hour($d1)", "minute/1": "minute($d1)", "second/1": "second($d1)", "microsecond/1": "(microsecond($d1) % 1000000)",
	"dayofweek/1": "(dayofweek($d1) + 1)", "weekday/1": "(isodow($d1) - 1)", "dayname/1": "dayname($d1)", "monthname/1": "monthname($d1)", "last_day/1": "last_day($d1)",
	"week/1": "CAST(strftime($d1, '%U') AS INTEGER)", "weekofyear/1": "week($d1)",
	"yearweek/1":       "CAST(CASE WHEN strftime($d1, '%U') = '00' THEN strftime(make_date(year($d1) - 1, 12, 31), '%Y%U') ELSE strftime($d1, '%Y%U') END AS INTEGER)",
	"datediff/2":       "date_diff('day', CAST($2 AS DATE), CAST($1 AS DATE))",
	"timediff/2":       "($d1 - $d2)",
	"makedate/2":       "(make_date($1, 1, 1) + CAST($2 AS INTEGER) - 1)",
	"to_days/1":        "(date_diff('day', DATE '0001-01-01', CAST($1 AS DATE)) + 366)",
	"from_days/1":      "(DATE '0001-01-01' + CAST($1 - 366 AS INTEGER))",
	"unix_timestamp/1": "CAST(floor(epoch(CAST($d1 AS TIMESTAMPTZ))) AS BIGINT)",
	"from_unixtime/1":  "CAST(to_timestamp($1) AS TIMESTAMP)",
}

// specials are the functions that need more than a template. They get the
// call and return "" if they do not take these arguments.
var specials map[string]func(*printer, *tidb.FuncCallExpr) string

func init() {
	specials = map[string]func(*printer, *tidb.FuncCallExpr) string{
		"if": (*printer).ifFunction, "concat": (*printer).concat, "field": (*printer).field, "coalesce": (*printer).coalesce, "format": (*printer).formatNumber,
		"trim": (*printer).trim, "char_func": (*printer).char, "convert": (*printer).convertCharset,
		"date_format": (*printer).dateFormat, "time_format": (*printer).timeFormat, "str_to_date": (*printer).strToDate, "from_unixtime": (*printer).fromUnixtime,
		"now": (*printer).now, "current_timestamp": (*printer).now, "localtime": (*printer).now, "localtimestamp": (*printer).now, "sysdate": (*printer).now,
		"utc_timestamp": (*printer).utcNow, "curdate": (*printer).today, "current_date": (*printer).today, "utc_date": (*printer).utcToday,
		"curtime": (*printer).timeOfDay, "current_time": (*printer).timeOfDay, "utc_time": (*printer).utcTimeOfDay, "unix_timestamp": (*printer).unixNow,
		"date_add": (*printer).dateAdd, "adddate": (*printer).dateAdd, "date_sub": (*printer).dateSub, "subdate": (*printer).dateSub,
		"timestampadd": (*printer).timestampAdd, "timestampdiff": (*printer).timestampDiff, "extract": (*printer).extract, "convert_tz": (*printer).convertZone,
		"version": (*printer).sessionFunction, "database": (*printer).sessionFunction, "schema": (*printer).sessionFunction, "user": (*printer).sessionFunction,
		"current_user": (*printer).sessionFunction, "session_user": (*printer).sessionFunction, "system_user": (*printer).sessionFunction,
		"connection_id": (*printer).sessionFunction, "last_insert_id": (*printer).sessionFunction, "row_count": (*printer).sessionFunction,
		"found_rows": (*printer).sessionFunction, "charset": (*printer).sessionFunction, "collation": (*printer).sessionFunction,
	}
}

func (p *printer) function(n *tidb.FuncCallExpr) string {
	if n.Schema.O != "" {
		unsupported("function %s.%s", n.Schema.O, n.FnName.O)
	}
	name := n.FnName.L
	special, isSpecial := specials[name]
	if isSpecial {
		if out := special(p, n); out != "" {
			return out
		}
	}
	if template, ok := templates[name+"/"+strconv.Itoa(len(n.Args))]; ok {
		return fill(template, p.args(n.Args))
	}
	if isSpecial || known[name] {
		unsupported("function %s with %d argument(s) of this form", strings.ToUpper(name), len(n.Args))
	}
	return duckdb.QuoteName(name) + "(" + p.exprs(n.Args) + ")"
}

// known are the functions whose other forms mean something else in DuckDB.
var known = knownNames()

func knownNames() map[string]bool {
	names := map[string]bool{}
	for key := range templates {
		name, _, _ := strings.Cut(key, "/")
		names[name] = true
	}
	return names
}

// fill puts the arguments into a template.
func fill(template string, args []string) string {
	pairs := make([]string, 0, 6*len(args))
	for i, arg := range args {
		n := strconv.Itoa(i + 1)
		pairs = append(pairs, "$t"+n, text(arg), "$d"+n, timestamp(arg), "$"+n, arg)
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

func (p *printer) ifFunction(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 3 {
		return ""
	}
	return "CASE WHEN " + truth(n.Args[0], p.expr(n.Args[0])) + " THEN " + p.expr(n.Args[1]) + " ELSE " + p.expr(n.Args[2]) + " END"
}

// concat is NULL if any argument is, unlike DuckDB's concat.
func (p *printer) concat(n *tidb.FuncCallExpr) string {
	args := p.args(n.Args)
	for i, arg := range args {
		args[i] = text(number(n.Args[i], arg))
	}
	return "(" + strings.Join(args, " || ") + ")"
}

// coalesce is a keyword to DuckDB, so its name cannot be quoted.
func (p *printer) coalesce(n *tidb.FuncCallExpr) string { return "coalesce(" + p.exprs(n.Args) + ")" }

func (p *printer) field(n *tidb.FuncCallExpr) string {
	if len(n.Args) < 2 {
		return ""
	}
	return "coalesce(list_position([" + p.exprs(n.Args[1:]) + "], " + p.expr(n.Args[0]) + "), 0)"
}

// formatNumber prints FORMAT with a literal number of digits.
func (p *printer) formatNumber(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 2 {
		return ""
	}
	digits, err := strconv.Atoi(p.expr(n.Args[1]))
	if err != nil || digits < 0 || digits > 30 {
		unsupported("FORMAT with digits that are no literal")
	}
	return fmt.Sprintf("format('{:,.%df}', CAST(%s AS DOUBLE))", digits, p.expr(n.Args[0]))
}

// trim prints TRIM with a direction or characters of its own.
func (p *printer) trim(n *tidb.FuncCallExpr) string {
	if len(n.Args) < 2 {
		return ""
	}
	function := "trim"
	if len(n.Args) == 3 {
		direction, ok := n.Args[2].(*tidb.TrimDirectionExpr)
		switch {
		case !ok:
			return ""
		case direction.Direction == tidb.TrimLeading:
			function = "ltrim"
		case direction.Direction == tidb.TrimTrailing:
			function = "rtrim"
		}
	}
	return function + "(" + text(p.expr(n.Args[0])) + ", " + text(p.expr(n.Args[1])) + ")"
}

// char prints CHAR(n, …), whose last argument is a character set.
func (p *printer) char(n *tidb.FuncCallExpr) string {
	if len(n.Args) < 2 {
		return ""
	}
	codes := n.Args[:len(n.Args)-1]
	out := make([]string, len(codes))
	for i, code := range codes {
		out[i] = "chr(" + p.expr(code) + ")"
	}
	return "(" + strings.Join(out, " || ") + ")"
}

// convertCharset prints CONVERT(x USING charset): all text is UTF-8.
func (p *printer) convertCharset(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 2 {
		return ""
	}
	return text(p.expr(n.Args[0]))
}

// sessionFunction answers what only the session knows.
func (p *printer) sessionFunction(n *tidb.FuncCallExpr) string {
	switch s := p.session; n.FnName.L {
	case "version":
		return value(s.Version)
	case "database", "schema":
		if s.Database == "" {
			return "NULL"
		}
		return value(s.Database)
	case "connection_id":
		return value(s.ConnectionID)
	case "last_insert_id":
		return value(s.LastInsertID)
	case "row_count":
		return value(s.RowCount)
	case "found_rows":
		return value(s.FoundRows)
	case "charset":
		return value("utf8mb4")
	case "collation":
		return value("utf8mb4_general_ci")
	default:
		return value(s.User)
	}
}

// aggregateNames are the aggregates that are called something else in DuckDB.
var aggregateNames = map[string]string{
	"std": "stddev_pop", "stddev": "stddev_pop", "variance": "var_pop", "json_arrayagg": "json_group_array", "json_objectagg": "json_group_object",
	"approx_count_distinct": "approx_count_distinct",
}

func (p *printer) aggregate(n *tidb.AggregateFuncExpr) string {
	name := strings.ToLower(n.F)
	if name == "group_concat" {
		return p.groupConcat(n)
	}
	args := p.args(n.Args)
	for i, arg := range args {
		if name != "count" {
			args[i] = number(n.Args[i], arg)
		}
	}
	list := strings.Join(args, ", ")
	if name == "count" && len(args) > 1 {
		list = "(" + list + ")"
	}
	if name == "count" && isOne(n) {
		list = "*"
	}
	if n.Distinct {
		list = "DISTINCT " + list
	}
	if renamed, ok := aggregateNames[name]; ok {
		name = renamed
	}
	return name + "(" + list + ")"
}

// isOne reports whether COUNT counts rows: the parser has COUNT(*) as COUNT(1).
func isOne(n *tidb.AggregateFuncExpr) bool {
	return len(n.Args) == 1 && !n.Distinct && fmt.Sprint(literalInt(n.Args[0])) == "1"
}

// groupConcat prints GROUP_CONCAT; its last argument is the separator.
func (p *printer) groupConcat(n *tidb.AggregateFuncExpr) string {
	last := len(n.Args) - 1
	parts := p.args(n.Args[:last])
	for i, part := range parts {
		parts[i] = text(part)
	}
	distinct := ""
	if n.Distinct {
		distinct = "DISTINCT "
	}
	return "string_agg(" + distinct + strings.Join(parts, " || ") + ", " + p.expr(n.Args[last]) + p.orderBy(n.Order) + ")"
}

func (p *printer) windowFunction(n *tidb.WindowFuncExpr) string {
	distinct := ""
	if n.Distinct {
		distinct = "DISTINCT "
	}
	name := strings.ToLower(n.Name)
	if renamed, ok := aggregateNames[name]; ok {
		name = renamed
	}
	call := name + "(" + distinct + p.exprs(n.Args)
	if n.IgnoreNull {
		call += " IGNORE NULLS"
	}
	if n.Spec.OnlyAlias {
		return call + ") OVER " + duckdb.QuoteName(n.Spec.Name.O)
	}
	return call + ") OVER " + p.window(&n.Spec)
}
