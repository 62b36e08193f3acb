package rewrite

import (
	"fmt"
	"strconv"
	"strings"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"

	"shoal/sql/duckdb"
	"shoal/sql/types"
)

// special is a function that needs more than a template. print gets the call
// and returns "" if it does not take these arguments.
type special struct {
	result kind
	print  func(*printer, *tidb.FuncCallExpr) string
}

// specials are those of queries and load expressions; of sessionFunction and
// variables only queries know.
var specials map[string]special

func init() {
	specials = map[string]special{
		"if":                {ofAll, (*printer).ifFunction},
		"concat":            {text, (*printer).concat},
		"field":             {integer, (*printer).field},
		"coalesce":          {ofAll, (*printer).coalesce},
		"format":            {text, (*printer).formatNumber},
		"trim":              {text, (*printer).trim},
		"char_func":         {text, (*printer).char},
		"convert":           {text, (*printer).convertCharset},
		"date_format":       {text, (*printer).dateFormat},
		"time_format":       {text, (*printer).timeFormat},
		"str_to_date":       {datetime, (*printer).strToDate},
		"from_unixtime":     {datetime, (*printer).fromUnixtime},
		"unix_timestamp":    {integer, (*printer).unixTimestamp},
		"now":               {datetime, (*printer).now},
		"current_timestamp": {datetime, (*printer).now},
		"localtime":         {datetime, (*printer).now},
		"localtimestamp":    {datetime, (*printer).now},
		"sysdate":           {datetime, (*printer).now},
		"utc_timestamp":     {datetime, (*printer).utcNow},
		"curdate":           {date, (*printer).today},
		"current_date":      {date, (*printer).today},
		"utc_date":          {date, (*printer).utcToday},
		"curtime":           {clock, (*printer).timeOfDay},
		"current_time":      {clock, (*printer).timeOfDay},
		"utc_time":          {clock, (*printer).utcTimeOfDay},
		"date_add":          {datetime, (*printer).dateAdd},
		"adddate":           {datetime, (*printer).dateAdd},
		"date_sub":          {datetime, (*printer).dateSub},
		"subdate":           {datetime, (*printer).dateSub},
		"timestampadd":      {datetime, (*printer).timestampAdd},
		"timestampdiff":     {integer, (*printer).timestampDiff},
		"elt":               {text, (*printer).elt},
		"sha2":              {text, (*printer).sha2},
		"from_second":       {datetime, (*printer).fromUnit},
		"from_millisecond":  {datetime, (*printer).fromUnit},
		"from_microsecond":  {datetime, (*printer).fromUnit},
		"named_struct":      {structure, (*printer).namedStruct},
		"json_unquote":      {text, (*printer).jsonUnquote},
		"extract":           {integer, (*printer).extract},
		"convert_tz":        {datetime, (*printer).convertZone},
		"element_at":        {unknown, (*printer).elementAt},
		"struct_element":    {unknown, (*printer).structElement},
	}
	for _, name := range sessionFunctions {
		specials[name] = special{unknown, (*printer).sessionFunction}
	}
}

var sessionFunctions = []string{
	"version", "database", "schema", "user", "current_user", "session_user", "system_user", "connection_id", "last_insert_id", "row_count", "found_rows", "charset", "collation",
}

func (p *printer) function(n *tidb.FuncCallExpr) string {
	if n.Schema.O != "" {
		unsupported("function %s.%s", n.Schema.O, n.FnName.O)
	}
	name := n.FnName.L
	special, isSpecial := p.special(name)
	if isSpecial {
		if out := special.print(p, n); out != "" {
			return out
		}
	}
	if template, ok := p.templateOf(n); ok {
		return p.fill(template, n.Args)
	}
	switch {
	case p.scope != nil && volatileNames[name]:
		unsupported("function %s, which gives something else each time, in a load expression", strings.ToUpper(name))
	case isSpecial, known[name], p.scope != nil && loadNames[name]:
		unsupported("function %s with %d argument(s) of this form", strings.ToUpper(name), len(n.Args))
	case p.scope != nil:
		p.unknownFunction(n.FnName.O)
	}
	return duckdb.QuoteName(name) + "(" + p.exprs(n.Args) + ")"
}

func (p *printer) special(name string) (special, bool) {
	s, ok := specials[name]
	if !ok && p.scope != nil {
		s, ok = loadSpecials[name]
	}
	return s, ok
}

// functionKind is the kind of a function's result.
func (p *printer) functionKind(n *tidb.FuncCallExpr) kind {
	if t := p.partType(n); t.Kind != types.Invalid {
		return kinds[t.Kind]
	}
	result := unknown
	if t, ok := p.templateOf(n); ok {
		result = t.result
	} else if s, ok := p.special(n.FnName.L); ok {
		result = s.result
	}
	switch n.FnName.L {
	case "if":
		return p.common(n.Args[min(1, len(n.Args)):])
	case "nullif":
		return p.common(n.Args[:min(1, len(n.Args))])
	case "date_add", "date_sub", "adddate", "subdate":
		if p.isDate(n) {
			return date
		}
	case "round":
		if len(n.Args) == 2 && !isDigits(n.Args[1]) {
			return double
		}
	case "str_to_date":
		if len(n.Args) == 2 && isDateOnly(n.Args[1]) {
			return date
		}
	case "from_unixtime":
		if len(n.Args) == 2 {
			return text
		}
	}
	switch result {
	case ofAll:
		return p.common(n.Args)
	case ofCompared:
		return p.comparedKind(n.Args)
	case ofNumbers:
		number := integer
		for _, arg := range n.Args {
			number = arithmetic(number, p.numberKind(arg), false)
		}
		return number
	}
	return result
}

func (p *printer) ifFunction(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 3 {
		return ""
	}
	results := p.results(n.Args[1:])
	return "CASE WHEN " + p.arg(boolean, n.Args[0]) + " THEN " + results[0] + " ELSE " + results[1] + " END"
}

// concat is NULL if any argument is, unlike DuckDB's concat.
func (p *printer) concat(n *tidb.FuncCallExpr) string {
	if len(n.Args) == 0 {
		return ""
	}
	args := make([]string, len(n.Args))
	for i, arg := range n.Args {
		if p.scope != nil {
			args[i] = p.arg(text, arg)
			continue
		}
		args[i] = cast(p.arg(double, arg), "VARCHAR") // truth as 1 or 0
	}
	return "(" + strings.Join(args, " || ") + ")"
}

// coalesce is a keyword to DuckDB, so its name cannot be quoted.
func (p *printer) coalesce(n *tidb.FuncCallExpr) string {
	if len(n.Args) == 0 {
		return ""
	}
	return "coalesce(" + strings.Join(p.results(n.Args), ", ") + ")"
}

func (p *printer) field(n *tidb.FuncCallExpr) string {
	if len(n.Args) < 2 {
		return ""
	}
	args := p.compared(n.Args...)
	return "coalesce(list_position([" + strings.Join(args[1:], ", ") + "], " + args[0] + "), 0)"
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
	return fmt.Sprintf("format('{:,.%df}', CAST(%s AS DOUBLE))", digits, p.arg(double, n.Args[0]))
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
	return function + "(" + p.arg(text, n.Args[0]) + ", " + p.arg(text, n.Args[1]) + ")"
}

// char prints CHAR(n, …), whose last argument is a character set.
func (p *printer) char(n *tidb.FuncCallExpr) string {
	if len(n.Args) < 2 {
		return ""
	}
	codes := n.Args[:len(n.Args)-1]
	out := make([]string, len(codes))
	for i, code := range codes {
		out[i] = "chr(CAST(" + p.arg(integer, code) + " AS INTEGER))"
	}
	return "(" + strings.Join(out, " || ") + ")"
}

// convertCharset prints CONVERT(x USING charset): all text is UTF-8.
func (p *printer) convertCharset(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 2 {
		return ""
	}
	return p.arg(text, n.Args[0])
}

// jsonUnquote leaves a text that is not in quotes as it is. One that is in them
// must be a string of JSON.
func (p *printer) jsonUnquote(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 1 {
		return ""
	}
	arg := p.expr(n.Args[0])
	if call, ok := n.Args[0].(*tidb.FuncCallExpr); p.kind(n.Args[0]) == json || ok && call.FnName.L == "json_extract" {
		return jsonText(arg)
	}
	plain := p.as(text, n.Args[0], arg)
	if p.scope != nil {
		arg = plain
	}
	return "CASE WHEN " + plain + ` LIKE '"%"' THEN ` + jsonText(arg) + " ELSE " + plain + " END"
}

// sessionFunction answers what only the session knows.
func (p *printer) sessionFunction(n *tidb.FuncCallExpr) string {
	p.onlyInQueries("function " + strings.ToUpper(n.FnName.O))
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
			args[i] = p.as(double, n.Args[i], arg)
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
		parts[i] = cast(part, "VARCHAR")
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
