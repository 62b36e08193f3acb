package rewrite

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"
	"github.com/pingcap/tidb/pkg/parser/opcode"
	literals "github.com/pingcap/tidb/pkg/parser/test_driver"

	"shoal/sql/ast"
	"shoal/sql/duckdb"
)

func (p *printer) exprs(list []tidb.ExprNode) string {
	return strings.Join(p.args(list), ", ")
}

func (p *printer) args(list []tidb.ExprNode) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = p.expr(e)
	}
	return out
}

// maxLength bounds what an expression becomes: some functions write an argument
// more than once, and nested in each other grow beyond all measure.
const maxLength = 1 << 20

// expr prints an expression so that it can stand as an operand.
func (p *printer) expr(node tidb.ExprNode) string {
	defer p.enter()()
	out := p.operand(node)
	if len(out) > maxLength {
		unsupported("an expression that becomes longer than %d bytes", maxLength)
	}
	return out
}

func (p *printer) operand(node tidb.ExprNode) string {
	switch n := node.(type) {
	case *literals.ParamMarkerExpr:
		unsupported("a parameter without a value")
	case *literals.ValueExpr:
		return literal(n)
	case *tidb.ColumnNameExpr:
		return p.column(n.Name)
	case *tidb.ParenthesesExpr:
		return "(" + p.expr(n.Expr) + ")"
	case *tidb.BinaryOperationExpr:
		return p.binary(n)
	case *tidb.UnaryOperationExpr:
		return p.unary(n)
	case *tidb.VariableExpr:
		return p.variable(n)
	case *tidb.FuncCallExpr:
		return p.function(n)
	case *tidb.FuncCastExpr:
		return p.cast(n)
	case *tidb.AggregateFuncExpr:
		p.onlyInQueries("the aggregate function " + strings.ToUpper(n.F))
		return p.aggregate(n)
	case *tidb.WindowFuncExpr:
		p.onlyInQueries("the window function " + strings.ToUpper(n.Name))
		return p.windowFunction(n)
	case *tidb.SubqueryExpr:
		p.onlyInQueries("a subquery")
		return "(" + p.query(n.Query) + ")"
	case *tidb.CaseExpr:
		return p.caseExpr(n)
	case *tidb.SetCollationExpr:
		return p.expr(n.Expr)
	case *tidb.RowExpr:
		return "(" + p.exprs(n.Values) + ")"
	case *tidb.PositionExpr:
		return strconv.Itoa(n.N)
	}
	return p.predicate(node)
}

// predicate prints the expressions that are true or false.
func (p *printer) predicate(node tidb.ExprNode) string {
	switch n := node.(type) {
	case *tidb.BetweenExpr:
		operands := p.compared(n.Expr, n.Left, n.Right)
		return "(" + operands[0] + not(n.Not) + " BETWEEN " + operands[1] + " AND " + operands[2] + ")"
	case *tidb.PatternInExpr:
		if n.Sel != nil {
			return "(" + p.expr(n.Expr) + not(n.Not) + " IN " + p.expr(n.Sel) + ")"
		}
		operands := p.compared(append([]tidb.ExprNode{n.Expr}, n.List...)...)
		return "(" + operands[0] + not(n.Not) + " IN (" + strings.Join(operands[1:], ", ") + "))"
	case *tidb.IsNullExpr:
		return "(" + p.expr(n.Expr) + " IS" + not(n.Not) + " NULL)"
	case *tidb.IsTruthExpr:
		return fmt.Sprintf("(%s IS%s %t)", p.arg(boolean, n.Expr), not(n.Not), n.True != 0)
	case *tidb.PatternLikeOrIlikeExpr:
		return p.like(n)
	case *tidb.PatternRegexpExpr:
		return "(" + strings.TrimSpace(not(n.Not)+" regexp_matches(") + p.arg(text, n.Expr) + ", " + p.arg(text, n.Pattern) + "))"
	case *tidb.ExistsSubqueryExpr:
		return "(" + strings.TrimSpace(not(n.Not)+" EXISTS "+p.expr(n.Sel)) + ")"
	case *tidb.CompareSubqueryExpr:
		quantifier := " ANY "
		if n.All {
			quantifier = " ALL "
		}
		return "(" + p.expr(n.L) + " " + operators[n.Op] + quantifier + p.expr(n.R) + ")"
	}
	unsupported("%s", strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", node), "*ast."), "Expr"))
	return ""
}

func not(n bool) string {
	if n {
		return " NOT"
	}
	return ""
}

// column prints a column: of a query as it is named, of a load as its scope
// has it.
func (p *printer) column(n *tidb.ColumnName) string {
	if p.scope != nil {
		c := p.scope.column(n)
		p.used[c.Name] = true
		return c.SQL
	}
	name := duckdb.QuoteName(n.Name.O)
	if n.Table.O != "" {
		name = duckdb.QuoteName(n.Table.O) + "." + name
	}
	if n.Schema.O != "" {
		name = duckdb.QuoteName(duckdb.SchemaName(n.Schema.O)) + "." + name
	}
	return name
}

func stringLiteral(node tidb.ExprNode) (string, bool) {
	v, ok := node.(*literals.ValueExpr)
	if !ok || v.Kind() != literals.KindString {
		return "", false
	}
	return v.GetString(), true
}

func literal(v *literals.ValueExpr) string {
	switch v.Kind() {
	case literals.KindNull:
		return "NULL"
	case literals.KindInt64:
		if v.Type.GetFlag()&mysql.IsBooleanFlag != 0 {
			return strconv.FormatBool(v.GetInt64() != 0)
		}
		return strconv.FormatInt(v.GetInt64(), 10)
	case literals.KindUint64:
		n := strconv.FormatUint(v.GetUint64(), 10)
		if v.GetUint64() > math.MaxInt64 {
			return "CAST(" + n + " AS UBIGINT)"
		}
		return n
	case literals.KindFloat32, literals.KindFloat64:
		return strconv.FormatFloat(v.GetFloat64(), 'e', -1, 64)
	case literals.KindMysqlDecimal:
		return v.GetMysqlDecimal().String()
	case literals.KindString, literals.KindBytes, literals.KindBinaryLiteral:
		return quoteText(v.GetString())
	}
	unsupported("this literal")
	return ""
}

// quoteText prints a text, or what is none as the bytes it is. A statement cannot
// have the character NUL.
func quoteText(s string) string {
	switch valid := utf8.ValidString(s); {
	case !valid:
		return fmt.Sprintf("unhex('%X')", s)
	case strings.Contains(s, "\x00"):
		return fmt.Sprintf("decode(unhex('%X'))", s)
	}
	return duckdb.QuoteString(s)
}

// operators are the binary operators that keep their form.
var operators = map[opcode.Op]string{
	opcode.LogicAnd: "AND", opcode.LogicOr: "OR", opcode.EQ: "=", opcode.NE: "<>", opcode.LT: "<", opcode.LE: "<=", opcode.GT: ">", opcode.GE: ">=",
	opcode.NullEQ: "IS NOT DISTINCT FROM", opcode.Plus: "+", opcode.Minus: "-", opcode.Mul: "*", opcode.Mod: "%", opcode.IntDiv: "//",
	opcode.And: "&", opcode.Or: "|", opcode.LeftShift: "<<", opcode.RightShift: ">>",
}

func (p *printer) binary(n *tidb.BinaryOperationExpr) string {
	left, right := p.operands(n)
	switch n.Op {
	case opcode.Div: // NULL, not infinity, where the divisor is 0
		return "(" + left + " / NULLIF(" + right + ", 0))"
	case opcode.LogicXor:
		return "(" + left + " <> " + right + ")"
	case opcode.Xor:
		return "xor(" + left + ", " + right + ")"
	}
	if p.scope != nil {
		switch {
		case n.Op == opcode.Mod:
			return "(" + left + " % NULLIF(" + right + ", 0))"
		case n.Op == opcode.IntDiv && (p.numberKind(n.L) != integer || p.numberKind(n.R) != integer):
			return "TRY_CAST(trunc(" + left + " / NULLIF(" + right + ", 0)) AS BIGINT)"
		case n.Op == opcode.IntDiv:
			return "(" + left + " // NULLIF(" + right + ", 0))"
		}
	}
	operator, ok := operators[n.Op]
	if !ok {
		unsupported("operator %s", n.Op)
	}
	return "(" + left + " " + operator + " " + right + ")"
}

// operands prints the two sides of an operator as it takes them.
func (p *printer) operands(n *tidb.BinaryOperationExpr) (left, right string) {
	of := double
	switch n.Op {
	case opcode.EQ, opcode.NE, opcode.LT, opcode.LE, opcode.GT, opcode.GE, opcode.NullEQ:
		both := p.compared(n.L, n.R)
		return both[0], both[1]
	case opcode.LogicAnd, opcode.LogicOr, opcode.LogicXor:
		of = boolean
	case opcode.And, opcode.Or, opcode.Xor, opcode.LeftShift, opcode.RightShift:
		if p.scope == nil {
			return p.expr(n.L), p.expr(n.R)
		}
		of = integer
	case opcode.Mul:
		if p.scope != nil && p.kind(n) == double { // not as decimals, which cannot be as fine
			return cast(p.arg(double, n.L), "DOUBLE"), p.arg(double, n.R)
		}
	}
	return p.arg(of, n.L), p.arg(of, n.R)
}

func (p *printer) unary(n *tidb.UnaryOperationExpr) string {
	switch n.Op {
	case opcode.Not, opcode.Not2:
		return "(NOT " + p.arg(boolean, n.V) + ")"
	case opcode.Minus:
		return "(- " + p.arg(double, n.V) + ")"
	case opcode.Plus:
		if p.scope == nil {
			return p.expr(n.V)
		}
		return p.arg(double, n.V)
	case opcode.BitNeg:
		if p.scope == nil {
			return "(~ " + p.expr(n.V) + ")"
		}
		return "(~ " + p.arg(integer, n.V) + ")"
	}
	unsupported("operator %s", n.Op)
	return ""
}

func (p *printer) variable(n *tidb.VariableExpr) string {
	return value(p.variableValue(n))
}

// variableValue asks the session for a variable.
func (p *printer) variableValue(n *tidb.VariableExpr) any {
	p.onlyInQueries("the variable @" + n.Name)
	if n.Value != nil {
		unsupported("assigning @%s in a query (SET does)", n.Name)
	}
	if !n.IsSystem {
		return p.session.UserVariable(n.Name)
	}
	scope := ast.NoScope
	if n.ExplicitScope {
		scope = ast.Session
		if n.IsGlobal {
			scope = ast.Global
		}
	}
	v, err := p.session.SystemVariable(scope, n.Name)
	if err != nil {
		panic(fault{err})
	}
	return v
}

// value prints what the session answered.
func value(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return quoteText(v)
	case float64:
		return strconv.FormatFloat(v, 'e', -1, 64)
	case Decimal:
		return string(v)
	}
	return "CAST(" + fmt.Sprint(v) + " AS BIGINT)"
}

func (p *printer) caseExpr(n *tidb.CaseExpr) string {
	var b strings.Builder
	b.WriteString("CASE")
	results := p.results(caseResults(n))
	if n.Value != nil {
		values := []tidb.ExprNode{n.Value}
		for _, w := range n.WhenClauses {
			values = append(values, w.Expr)
		}
		compared := p.compared(values...)
		b.WriteString(" " + compared[0])
		for i := range n.WhenClauses {
			b.WriteString(" WHEN " + compared[i+1] + " THEN " + results[i])
		}
	} else {
		for i, w := range n.WhenClauses {
			b.WriteString(" WHEN " + p.arg(boolean, w.Expr) + " THEN " + results[i])
		}
	}
	if n.ElseClause != nil {
		b.WriteString(" ELSE " + results[len(results)-1])
	}
	return b.String() + " END"
}

func (p *printer) cast(n *tidb.FuncCastExpr) string {
	if p.scope != nil {
		return p.loadCast(n)
	}
	operand := p.expr(n.Expr)
	if n.FunctionType == tidb.CastBinaryOperator {
		return operand
	}
	target := ""
	switch n.Tp.GetType() {
	case mysql.TypeLonglong:
		target = "BIGINT"
		if n.Tp.GetFlag()&mysql.UnsignedFlag != 0 {
			target = "UBIGINT"
		}
	case mysql.TypeVarString, mysql.TypeString, mysql.TypeVarchar:
		if length := n.Tp.GetFlen(); length >= 0 {
			return fmt.Sprintf("substr(%s, 1, %d)", cast(operand, "VARCHAR"), length)
		}
		return cast(operand, "VARCHAR")
	case mysql.TypeDate:
		target = "DATE"
	case mysql.TypeDatetime, mysql.TypeTimestamp:
		target = "TIMESTAMP"
	case mysql.TypeDuration:
		target = "TIME"
	case mysql.TypeNewDecimal:
		target = fmt.Sprintf("DECIMAL(%d,%d)", min(n.Tp.GetFlen(), 38), max(n.Tp.GetDecimal(), 0))
	case mysql.TypeDouble:
		target = "DOUBLE"
	case mysql.TypeFloat:
		target = "FLOAT"
	case mysql.TypeJSON:
		target = "JSON"
	default:
		unsupported("CAST to %s", n.Tp)
	}
	return cast(operand, target)
}
