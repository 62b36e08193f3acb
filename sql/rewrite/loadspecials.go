package rewrite

import (
	"fmt"
	"strings"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"

	"shoal/sql/duckdb"
	"shoal/sql/types"
)

// loadSpecials are specials that a SELECT leaves to DuckDB as they are.
var loadSpecials map[string]special

func init() {
	loadSpecials = map[string]special{
		"nullif":         {unknown, (*printer).nullIf},
		"greatest":       {ofCompared, (*printer).extreme},
		"least":          {ofCompared, (*printer).extreme},
		"concat_ws":      {text, (*printer).concatWS},
		"hex":            {text, (*printer).hex},
		"round":          {ofNumbers, (*printer).round},
		"date_trunc":     {datetime, (*printer).dateTrunc},
		"regexp_extract": {text, (*printer).regexpExtract},
		"array":          {list, (*printer).array},
		"map":            {mapping, (*printer).mapOf},
		"array_contains": {boolean, (*printer).arrayFind},
		"array_position": {integer, (*printer).arrayFind},
		"array_concat":   {list, (*printer).arrayConcat},
		"json_object":    {json, (*printer).jsonObject},
		"json_array":     {json, (*printer).jsonArray},
	}
	loadNames = namesOf(loadTemplates)
}

// nullIf is NULL if both are equal, as they are compared.
func (p *printer) nullIf(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 2 {
		return ""
	}
	both := p.compared(n.Args...)
	return "CASE WHEN " + both[0] + " = " + both[1] + " THEN NULL ELSE " + p.expr(n.Args[0]) + " END"
}

// extreme is NULL if any argument is, unlike DuckDB's.
func (p *printer) extreme(n *tidb.FuncCallExpr) string {
	if len(n.Args) < 2 {
		return ""
	}
	args := p.compared(n.Args...)
	missing := make([]string, len(args))
	for i, arg := range args {
		missing[i] = arg + " IS NULL"
	}
	return "CASE WHEN " + strings.Join(missing, " OR ") + " THEN NULL ELSE " + n.FnName.L + "(" + strings.Join(args, ", ") + ") END"
}

// texts prints arguments as texts.
func (p *printer) texts(nodes []tidb.ExprNode) []string {
	out := make([]string, len(nodes))
	for i, node := range nodes {
		out[i] = p.arg(text, node)
	}
	return out
}

func (p *printer) concatWS(n *tidb.FuncCallExpr) string {
	if len(n.Args) < 2 {
		return ""
	}
	return "concat_ws(" + strings.Join(p.texts(n.Args), ", ") + ")"
}

// hex is that of a number's value or of a text's bytes.
func (p *printer) hex(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 1 {
		return ""
	}
	if p.kind(n.Args[0]).isNumber() {
		return "hex(" + p.arg(integer, n.Args[0]) + ")"
	}
	return "hex(" + p.arg(text, n.Args[0]) + ")"
}

func (p *printer) elt(n *tidb.FuncCallExpr) string {
	if len(n.Args) < 2 {
		return ""
	}
	at := p.arg(integer, n.Args[0])
	return "CASE WHEN " + at + " > 0 THEN list_extract([" + strings.Join(p.texts(n.Args[1:]), ", ") + "], " + at + ") END"
}

// round keeps decimals, for which DuckDB wants to know the digits beforehand.
func (p *printer) round(n *tidb.FuncCallExpr) string {
	switch len(n.Args) {
	case 1:
		return "round(" + p.arg(double, n.Args[0]) + ")"
	case 2:
		if isDigits(n.Args[1]) {
			return "round(" + p.arg(double, n.Args[0]) + ", " + p.expr(n.Args[1]) + ")"
		}
		return "round(" + cast(p.arg(double, n.Args[0]), "DOUBLE") + ", CAST(" + p.arg(integer, n.Args[1]) + " AS INTEGER))"
	}
	return ""
}

// isDigits reports whether an expression is a literal number of digits behind
// the point.
func isDigits(node tidb.ExprNode) bool {
	digits, ok := literalInt(node).(int64)
	return ok && digits >= 0 && digits <= types.MaxDecimalPrecision
}

// regexpExtract takes the group by its number, 0 for all that matches.
func (p *printer) regexpExtract(n *tidb.FuncCallExpr) string {
	const groups = 9
	if len(n.Args) != 3 {
		return ""
	}
	group, ok := literalInt(n.Args[2]).(int64)
	if !ok || group < 0 || group > groups {
		unsupported("REGEXP_EXTRACT of a group that is no literal from 0 to %d", groups)
	}
	return fmt.Sprintf("regexp_extract(%s, %s, %d)", p.arg(text, n.Args[0]), p.arg(text, n.Args[1]), group)
}

// sha2 is that of 256 bits, the only one that DuckDB has; 0 stands for it too.
func (p *printer) sha2(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 2 {
		return ""
	}
	if bits, ok := literalInt(n.Args[1]).(int64); !ok || bits != 256 && bits != 0 {
		unsupported("SHA2 of other than 256 bits")
	}
	return "sha256(" + p.arg(text, n.Args[0]) + ")"
}

// dateTrunc takes the unit before or after the time, as Doris's versions do.
func (p *printer) dateTrunc(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 2 {
		return ""
	}
	unit, at := n.Args[1], n.Args[0]
	name, ok := stringLiteral(unit)
	if first, is := stringLiteral(at); is && truncUnits[strings.ToLower(first)] {
		name, ok, at = first, true, n.Args[1]
	}
	name = strings.ToLower(name)
	if !ok || !truncUnits[name] {
		unsupported("DATE_TRUNC to anything but a literal year, quarter, month, week, day, hour, minute or second")
	}
	return "CAST(date_trunc(" + duckdb.QuoteString(name) + ", " + p.arg(datetime, at) + ") AS TIMESTAMP)"
}

var truncUnits = map[string]bool{"year": true, "quarter": true, "month": true, "week": true, "day": true, "hour": true, "minute": true, "second": true}

// fromUnit is the time in the zone so many units after 1970.
func (p *printer) fromUnit(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 1 {
		return ""
	}
	micros := map[string]int{"from_second": 1_000_000, "from_millisecond": 1_000, "from_microsecond": 1}[n.FnName.L]
	return p.since1970(p.arg(integer, n.Args[0]), micros)
}

// elementAt takes from an array by its place, counted from 1 or from the end,
// and from a map by key.
func (p *printer) elementAt(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 2 {
		return ""
	}
	if p.scope == nil {
		return "(" + p.expr(n.Args[0]) + ")[" + p.expr(n.Args[1]) + "]"
	}
	of := n.Args[0]
	if k := p.kind(of); k == mapping {
		key := p.arg(text, n.Args[1])
		if parts := p.partType(of).Parts(); len(parts) == 2 {
			key = tryCast(key, parts[0].Type.DuckDB())
		}
		return "list_extract(map_extract(" + p.expr(of) + ", " + key + "), 1)"
	}
	return "list_extract(" + p.arg(list, of) + ", " + p.arg(integer, n.Args[1]) + ")"
}

func (p *printer) structElement(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 2 {
		return ""
	}
	if p.scope == nil {
		return "struct_extract(" + p.exprs(n.Args) + ")"
	}
	name, literal := stringLiteral(n.Args[1])
	var names []string
	for _, f := range p.partType(n.Args[0]).Parts() {
		if literal && p.kind(n.Args[0]) == structure && strings.EqualFold(f.Name, name) {
			return "struct_extract(" + p.expr(n.Args[0]) + ", " + duckdb.QuoteString(f.Name) + ")"
		}
		names = append(names, f.Name)
	}
	panic(fault{&UnknownName{What: "field of a struct", Name: name, candidates: names}})
}

func (p *printer) array(n *tidb.FuncCallExpr) string {
	return "[" + strings.Join(p.results(n.Args), ", ") + "]"
}

// alternate splits k1, v1, k2, v2, ….
func alternate(args []tidb.ExprNode) (keys, values []tidb.ExprNode) {
	for i, arg := range args {
		if i%2 == 0 {
			keys = append(keys, arg)
		} else {
			values = append(values, arg)
		}
	}
	return keys, values
}

func (p *printer) mapOf(n *tidb.FuncCallExpr) string {
	keys, values := alternate(n.Args)
	if len(keys) != len(values) || len(keys) == 0 {
		return ""
	}
	return "MAP([" + strings.Join(p.results(keys), ", ") + "], [" + strings.Join(p.results(values), ", ") + "])"
}

func (p *printer) namedStruct(n *tidb.FuncCallExpr) string {
	names, values := alternate(n.Args)
	if len(names) != len(values) || len(names) == 0 {
		return ""
	}
	seen := map[string]bool{}
	fields := make([]string, len(names))
	for i, node := range names {
		name, ok := stringLiteral(node)
		if lower := strings.ToLower(name); !ok || name == "" || seen[lower] {
			unsupported("NAMED_STRUCT with a name that is no literal, or is there twice,")
		}
		seen[strings.ToLower(name)] = true
		fields[i] = duckdb.QuoteString(name) + ": " + p.expr(values[i])
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// arrayFind compares as numbers if what is looked for is one, else as texts.
func (p *printer) arrayFind(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 2 {
		return ""
	}
	values, what := tryCast(p.arg(list, n.Args[0]), "VARCHAR[]"), p.arg(text, n.Args[1])
	if p.kind(n.Args[1]).isNumber() {
		values, what = tryCast(values, "DOUBLE[]"), p.arg(double, n.Args[1])
	}
	if n.FnName.L == "array_contains" {
		return "list_contains(" + values + ", " + what + ")"
	}
	return "CASE WHEN " + values + " IS NOT NULL THEN coalesce(list_position(" + values + ", " + what + "), 0) END"
}

func (p *printer) arrayConcat(n *tidb.FuncCallExpr) string {
	if len(n.Args) < 2 {
		return ""
	}
	args := make([]string, len(n.Args))
	for i, arg := range n.Args {
		args[i] = tryCast(p.arg(list, arg), "VARCHAR[]")
	}
	return "list_concat(" + strings.Join(args, ", ") + ")"
}

func (p *printer) jsonObject(n *tidb.FuncCallExpr) string {
	keys, values := alternate(n.Args)
	if len(keys) != len(values) {
		return ""
	}
	args := make([]string, 0, len(n.Args))
	for i := range keys {
		args = append(args, p.arg(text, keys[i]), p.expr(values[i]))
	}
	return "json_object(" + strings.Join(args, ", ") + ")"
}

func (p *printer) jsonArray(n *tidb.FuncCallExpr) string {
	return "json_array(" + p.exprs(n.Args) + ")"
}
