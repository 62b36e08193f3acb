package rewrite

import (
	tidb "github.com/pingcap/tidb/pkg/parser/ast"
	literals "github.com/pingcap/tidb/pkg/parser/test_driver"
)

// as prints an expression, of which printed is the SQL, as a value of a kind.
//
// A SELECT leaves most to DuckDB. In a load expression what cannot be converted
// is NULL, as in Doris, and what never could be is an error.
func (p *printer) as(to kind, node tidb.ExprNode, printed string) string {
	from := p.kind(node)
	if p.scope != nil {
		return p.convert(printed, from, to)
	}
	switch to {
	case text:
		return cast(printed, "VARCHAR")
	case datetime:
		return cast(printed, "TIMESTAMP")
	case date:
		return cast(printed, "DATE")
	case boolean:
		if from != boolean { // any number is true or false to MySQL
			return cast(printed, "BOOLEAN")
		}
	case double, integer:
		if from == boolean { // MySQL's truth is 1 or 0
			return cast(printed, "INTEGER")
		}
	}
	return printed
}

// arg prints an argument as a value of a kind.
func (p *printer) arg(to kind, node tidb.ExprNode) string { return p.as(to, node, p.expr(node)) }

func cast(expr, target string) string { return "CAST(" + expr + " AS " + target + ")" }

func tryCast(expr, target string) string { return "TRY_CAST(" + expr + " AS " + target + ")" }

// convert prints the conversion of a value between kinds.
func (p *printer) convert(x string, from, to kind) string {
	switch to {
	case datetime:
		return p.toTimestamp(x, from)
	case date:
		if from == date {
			return x
		}
		return cast(p.toTimestamp(x, from), "DATE")
	}
	return convert(x, from, to)
}

// convert prints the conversions that no time zone has a part in.
func convert(x string, from, to kind) string {
	switch to {
	case text:
		return toText(x, from)
	case boolean:
		return toTruth(x, from)
	case double, decimal:
		return toNumber(x, from)
	case integer:
		return toInteger(x, from)
	case json:
		return toJSON(x, from)
	case list, mapping:
		return toParts(x, from, to)
	}
	return x
}

func toText(x string, from kind) string {
	switch from {
	case text:
		return x
	case boolean:
		return cast(cast(x, "INTEGER"), "VARCHAR")
	case double: // a whole number has no point
		return `regexp_replace(CAST(` + x + ` AS VARCHAR), '\.0$', '')`
	case list, mapping, structure:
		return cast("to_json("+x+")", "VARCHAR")
	}
	return cast(x, "VARCHAR")
}

// jsonText is the text of a JSON value: a string without its quotes.
func jsonText(x string) string { return "json_extract_string(" + x + ", '$')" }

func mismatch(from, to kind) { unsupported("%s where %s is expected", from, to) }

func toTruth(x string, from kind) string {
	switch from {
	case boolean:
		return x
	case null:
		return cast(x, "BOOLEAN")
	case text: // a number, or true and false in words
		return "coalesce(" + tryCast(x, "DOUBLE") + " <> 0, " + tryCast(x, "BOOLEAN") + ")"
	case date, datetime, clock, list, mapping, structure:
		mismatch(from, boolean)
	}
	return "(" + toNumber(x, from) + " <> 0)"
}

// toNumber prints an operand of arithmetic. Integers get 64 bits, so that few
// sums overflow.
func toNumber(x string, from kind) string {
	switch from {
	case decimal, double:
		return x
	case integer, boolean, null:
		return cast(x, "BIGINT")
	case text:
		return tryCast(x, "DOUBLE")
	case json:
		return tryCast(jsonText(x), "DOUBLE")
	case unknown:
		return tryCast(cast(x, "VARCHAR"), "DOUBLE")
	}
	mismatch(from, double)
	return ""
}

// wholeNumber picks the digits before the point.
const wholeNumber = `'^\s*([+-]?\d+)(?:\.\d*)?\s*$'`

// toWhole prints a number cut off at its point, as a DuckDB type of integers.
// It is NULL where the type has no such number.
func toWhole(x string, from kind, target string) string {
	switch from {
	case integer, boolean, null:
		return tryCast(x, target)
	case decimal, double:
		return tryCast("trunc("+x+")", target)
	case text:
		return tryCast("regexp_extract("+x+", "+wholeNumber+", 1)", target)
	case json:
		return toWhole(jsonText(x), text, target)
	case unknown:
		return toWhole(cast(x, "VARCHAR"), text, target)
	}
	mismatch(from, integer)
	return ""
}

func toInteger(x string, from kind) string { return toWhole(x, from, "BIGINT") }

// zoned is a text that ends in a time with its zone.
const zoned = `'\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|UTC|[+-]\d\d(:?\d\d)?)\s*$'`

// toTimestamp reads texts of digits only too, as MySQL does. A text that has its
// own zone is the time in the job's, as where a column is converted.
func (p *printer) toTimestamp(x string, from kind) string {
	switch from {
	case datetime:
		return x
	case date, null:
		return cast(x, "TIMESTAMP")
	case text:
		plain := `regexp_replace(` + x + `, '^\s*(\d{4})(\d\d)(\d\d)\s*$', '\1-\2-\3')`
		plain = `regexp_replace(` + plain + `, '^\s*(\d{4})(\d\d)(\d\d)T?(\d\d)(\d\d)(\d\d)(\.\d*)?\s*$', '\1-\2-\3 \4:\5:\6\7')`
		instant := toZone("timezone('UTC', "+tryCast(plain, "TIMESTAMPTZ")+")", p.zone())
		return "CASE WHEN regexp_matches(" + x + ", " + zoned + ") THEN " + instant + " ELSE " + tryCast(plain, "TIMESTAMP") + " END"
	case integer, decimal, unknown:
		return p.toTimestamp(cast(x, "VARCHAR"), text)
	case json:
		return p.toTimestamp(jsonText(x), text)
	}
	mismatch(from, datetime)
	return ""
}

// toJSON leaves texts as they are: DuckDB's functions of JSON read them, and
// fail if they are none.
func toJSON(x string, from kind) string {
	switch from {
	case json, text:
		return x
	case null:
		return cast(x, "JSON")
	case list, mapping, structure, boolean:
		return "to_json(" + x + ")"
	}
	return toText(x, from)
}

// toParts prints an array or a map; a text may be the JSON of one.
func toParts(x string, from, to kind) string {
	target := "VARCHAR[]"
	if to == mapping {
		target = "MAP(VARCHAR, VARCHAR)"
	}
	switch from {
	case to:
		return x
	case null:
		return cast(x, target)
	case json:
		return tryCast(x, target)
	case text:
		return tryCast(tryCast(x, "JSON"), target)
	case unknown:
		return toParts(cast(x, "VARCHAR"), text, to)
	}
	mismatch(from, to)
	return ""
}

// results prints expressions of which one is the result, such as those of
// CASE, so that all are of the kind they have in common.
func (p *printer) results(nodes []tidb.ExprNode) []string {
	printed := p.args(nodes)
	if p.scope == nil {
		return printed
	}
	common := p.common(nodes)
	for i, node := range nodes {
		if from := p.kind(node); from != null && common != from && !(common.isNumber() && from != boolean) {
			printed[i] = p.convert(printed[i], from, common)
		}
	}
	return printed
}

// compared prints expressions that are compared with each other.
func (p *printer) compared(nodes ...tidb.ExprNode) []string {
	printed := p.args(nodes)
	if p.scope == nil {
		return printed
	}
	common := p.comparedKind(nodes)
	exact := p.isExact(nodes)
	for i, node := range nodes {
		switch from := p.kind(node); {
		case from == null || from == common && !from.isNested():
		case common.isNumber() && from.isNumber():
		case common.isNumber() && exact && (from == text || from == json):
			printed[i] = tryCast(p.convertCompared(printed[i], from, text), "DECIMAL(38,9)")
		default:
			printed[i] = p.convertCompared(printed[i], from, common)
		}
	}
	return printed
}

// convertCompared is convert for comparisons: a JSON string is its text there,
// and what has parts is its JSON.
func (p *printer) convertCompared(x string, from, to kind) string {
	switch {
	case from == json && to == text:
		return jsonText(x)
	case to.isNested():
		return toText(x, from)
	}
	return p.convert(x, from, to)
}

// isExact reports whether a text among numbers must be compared digit by
// digit: floating point is too coarse for large integers.
func (p *printer) isExact(nodes []tidb.ExprNode) bool {
	exact := false
	for _, node := range nodes {
		switch k := p.kind(node); {
		case k == double:
			return false
		case k == integer || k == decimal:
			n, small := literalInt(node).(int64)
			exact = exact || !small || n > 1<<53 || n < -1<<53
		}
	}
	return exact
}

// literalInt returns the int64 of an integer literal, otherwise nil.
func literalInt(node tidb.ExprNode) any {
	if v, ok := node.(*literals.ValueExpr); ok && literalKind(v) == integer && v.Kind() == literals.KindInt64 {
		return v.GetInt64()
	}
	return nil
}
