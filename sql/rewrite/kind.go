package rewrite

import (
	"slices"
	"strings"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	literals "github.com/pingcap/tidb/pkg/parser/test_driver"

	"shoal/sql/types"
)

// kind is what is known of an expression's value before it is computed. In a
// SELECT columns are unknown, and DuckDB converts as it sees fit; in a load
// expression all that comes from a column is known, and conversions are ours.
type kind uint8

const (
	unknown kind = iota
	null
	boolean
	integer // at most 64 bits
	decimal
	double
	text
	date
	datetime
	clock
	json
	list
	mapping
	structure
	// Arguments only.
	path     // of JSON
	constant // a text, the same for all rows

	// Results of functions that follow from their arguments.
	ofAll      // what all have in common, as a result
	ofNumbers  // the number that all make together
	ofCompared // what all are compared as
)

var kindNames = [...]string{
	unknown: "a value", null: "NULL", boolean: "a boolean", integer: "an integer", decimal: "a decimal", double: "a floating-point number", text: "a text",
	date: "a date", datetime: "a date with time", clock: "a time of day", json: "JSON", list: "an array", mapping: "a map", structure: "a struct",
}

func (k kind) String() string { return kindNames[k] }

func (k kind) isNumber() bool { return k == integer || k == decimal || k == double }

func (k kind) isTime() bool { return k == date || k == datetime }

func (k kind) isNested() bool { return k == list || k == mapping || k == structure }

// kinds are those of columns.
var kinds = map[types.Kind]kind{
	types.Boolean: boolean, types.TinyInt: integer, types.SmallInt: integer, types.Int: integer, types.BigInt: integer,
	types.LargeInt: decimal, types.Decimal: decimal, types.Float: double, types.Double: double, types.Date: date, types.DateTime: datetime,
	types.Char: text, types.VarChar: text, types.String: text, types.JSON: text, types.Variant: text, // JSON is stored as text
	types.Array: list, types.Map: mapping, types.Struct: structure,
}

// kind returns the kind of an expression.
func (p *printer) kind(node tidb.ExprNode) kind {
	if k, ok := p.kinds[node]; ok {
		return k
	}
	k := p.findKind(node)
	p.kinds[node] = k
	return k
}

func (p *printer) findKind(node tidb.ExprNode) kind {
	switch n := node.(type) {
	case *tidb.ParenthesesExpr:
		return p.kind(n.Expr)
	case *tidb.SetCollationExpr:
		return p.kind(n.Expr)
	case *tidb.BetweenExpr, *tidb.PatternInExpr, *tidb.IsNullExpr, *tidb.IsTruthExpr, *tidb.PatternLikeOrIlikeExpr,
		*tidb.PatternRegexpExpr, *tidb.ExistsSubqueryExpr, *tidb.CompareSubqueryExpr:
		return boolean
	case *tidb.UnaryOperationExpr:
		return p.unaryKind(n)
	case *tidb.BinaryOperationExpr:
		return p.binaryKind(n)
	case *literals.ValueExpr:
		return literalKind(n)
	}
	if p.scope == nil {
		return unknown
	}
	switch n := node.(type) {
	case *tidb.ColumnNameExpr:
		return kinds[p.partType(n).Kind]
	case *tidb.FuncCastExpr:
		return kinds[p.castTarget(n).Kind]
	case *tidb.CaseExpr:
		return p.common(caseResults(n))
	case *tidb.FuncCallExpr:
		return p.functionKind(n)
	}
	return unknown
}

func (p *printer) unaryKind(n *tidb.UnaryOperationExpr) kind {
	switch {
	case n.Op == opcode.Not || n.Op == opcode.Not2:
		return boolean
	case p.scope == nil:
		return unknown
	case n.Op == opcode.BitNeg:
		return integer
	}
	return p.numberKind(n.V)
}

func (p *printer) binaryKind(n *tidb.BinaryOperationExpr) kind {
	switch n.Op {
	case opcode.LogicAnd, opcode.LogicOr, opcode.LogicXor, opcode.EQ, opcode.NE, opcode.LT, opcode.LE, opcode.GT, opcode.GE, opcode.NullEQ:
		return boolean
	}
	if p.scope == nil {
		return unknown
	}
	switch n.Op {
	case opcode.Div:
		return double
	case opcode.Plus, opcode.Minus, opcode.Mul, opcode.Mod:
		return arithmetic(p.numberKind(n.L), p.numberKind(n.R), n.Op == opcode.Mul && p.scale(n.L)+p.scale(n.R) > types.MaxDecimalPrecision)
	}
	return integer
}

// arithmetic is the kind of a sum or product. Digits that no DECIMAL has make
// it a DOUBLE.
func arithmetic(left, right kind, tooFine bool) kind {
	switch {
	case left == double || right == double:
		return double
	case left == decimal || right == decimal:
		if tooFine {
			return double
		}
		return decimal
	}
	return integer
}

// numberKind is the kind that number prints an operand in.
func (p *printer) numberKind(node tidb.ExprNode) kind {
	switch k := p.kind(node); k {
	case integer, decimal:
		return k
	case boolean:
		return integer
	}
	return double
}

// scale is how many digits behind the point an operand has.
func (p *printer) scale(node tidb.ExprNode) int {
	switch n := node.(type) {
	case *tidb.ParenthesesExpr:
		return p.scale(n.Expr)
	case *tidb.UnaryOperationExpr:
		return p.scale(n.V)
	case *tidb.ColumnNameExpr:
		return p.partType(n).Scale
	case *tidb.FuncCastExpr:
		return p.castTarget(n).Scale
	case *literals.ValueExpr:
		if n.Kind() == literals.KindMysqlDecimal {
			_, fraction, _ := strings.Cut(n.GetMysqlDecimal().String(), ".")
			return len(fraction)
		}
		return 0
	}
	if p.numberKind(node) == decimal {
		return types.MaxDecimalPrecision
	}
	return 0
}

func literalKind(v *literals.ValueExpr) kind {
	switch v.Kind() {
	case literals.KindNull:
		return null
	case literals.KindInt64:
		if v.Type.GetFlag()&mysql.IsBooleanFlag != 0 {
			return boolean
		}
		return integer
	case literals.KindUint64:
		if v.GetUint64()>>63 == 0 {
			return integer
		}
		return decimal
	case literals.KindFloat32, literals.KindFloat64:
		return double
	case literals.KindMysqlDecimal:
		return decimal
	}
	return text
}

// common is the kind that CASE and its like give results of several kinds:
// text, if they are not all numbers or all times. Maps and structs of several
// types have nothing else in common either.
func (p *printer) common(nodes []tidb.ExprNode) kind {
	found := null
	var parts []types.Type
	for _, node := range nodes {
		k := p.kind(node)
		found = join(found, k)
		if k == mapping || k == structure {
			parts = append(parts, p.partType(node))
		}
	}
	if len(slices.Compact(parts)) > 1 || len(parts) > 1 && parts[0].Kind == types.Invalid {
		return text
	}
	return found
}

func join(a, b kind) kind {
	switch {
	case a == b || b == null:
		return a
	case a == null:
		return b
	case a == boolean && b.isNumber():
		return b
	case b == boolean && a.isNumber():
		return a
	case a.isNumber() && b.isNumber():
		return max(a, b)
	case a.isTime() && b.isTime():
		return datetime
	}
	return text
}

// compared is the kind in which values are compared with each other: a number
// if one is, a time if one is, else text.
func compared(a, b kind) kind {
	if a == json || a == unknown {
		a = text
	}
	if b == json || b == unknown {
		b = text
	}
	switch {
	case a == text && b.isNumber(), b == text && a.isNumber():
		return double
	case a == text && b.isTime(), b == text && a.isTime():
		return datetime
	case a == text && b == boolean, b == text && a == boolean:
		return boolean
	}
	return join(a, b)
}

// partType is the type of a column, or of a part of one: zero for anything
// else.
func (p *printer) partType(node tidb.ExprNode) types.Type {
	switch n := node.(type) {
	case *tidb.ParenthesesExpr:
		return p.partType(n.Expr)
	case *tidb.ColumnNameExpr:
		return p.scope.column(n.Name).Type
	case *tidb.FuncCastExpr:
		return p.castTarget(n)
	case *tidb.FuncCallExpr:
		if len(n.Args) != 2 {
			break
		}
		parts := p.partType(n.Args[0]).Parts()
		switch n.FnName.L {
		case "element_at":
			if len(parts) > 0 && p.kind(n.Args[0]) != structure {
				return parts[len(parts)-1].Type
			}
		case "struct_element":
			name, _ := stringLiteral(n.Args[1])
			for _, f := range parts {
				if strings.EqualFold(f.Name, name) {
					return f.Type
				}
			}
		}
	}
	return types.Type{}
}

// comparedKind is the kind in which all are compared.
func (p *printer) comparedKind(nodes []tidb.ExprNode) kind {
	common := null
	for _, node := range nodes {
		common = compared(common, p.kind(node))
	}
	return common
}

func caseResults(n *tidb.CaseExpr) []tidb.ExprNode {
	var results []tidb.ExprNode
	for _, w := range n.WhenClauses {
		results = append(results, w.Result)
	}
	if n.ElseClause != nil {
		results = append(results, n.ElseClause)
	}
	return results
}
