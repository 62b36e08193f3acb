package rewrite

import (
	"fmt"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"
	"github.com/pingcap/tidb/pkg/parser/mysql"

	"shoal/sql/types"
)

// castTarget is the type of a CAST.
func (p *printer) castTarget(n *tidb.FuncCastExpr) types.Type {
	length := n.Tp.GetFlen()
	switch n.Tp.GetType() {
	case mysql.TypeLonglong:
		if n.Tp.GetFlag()&mysql.UnsignedFlag != 0 {
			return types.Type{Kind: types.LargeInt}
		}
		return types.Type{Kind: types.BigInt}
	case mysql.TypeVarString, mysql.TypeString, mysql.TypeVarchar:
		if n.Tp.GetCharset() == "binary" && n.FunctionType != tidb.CastBinaryOperator && length >= 1 && length <= len(p.casts) {
			return p.casts[length-1]
		}
		if length >= 0 && n.FunctionType != tidb.CastBinaryOperator {
			return types.Type{Kind: types.VarChar, Length: length}
		}
		return types.Type{Kind: types.String}
	case mysql.TypeDate:
		return types.Type{Kind: types.Date}
	case mysql.TypeDatetime, mysql.TypeTimestamp:
		return types.Type{Kind: types.DateTime, Scale: max(n.Tp.GetDecimal(), 0)}
	case mysql.TypeNewDecimal:
		return types.Type{Kind: types.Decimal, Precision: min(length, types.MaxDecimalPrecision), Scale: max(n.Tp.GetDecimal(), 0)}
	case mysql.TypeDouble:
		return types.Type{Kind: types.Double}
	case mysql.TypeFloat:
		return types.Type{Kind: types.Float}
	case mysql.TypeJSON:
		return types.Type{Kind: types.JSON}
	}
	unsupported("CAST to %s in a load expression", n.Tp)
	return types.Type{}
}

// loadCast prints a cast by Doris's rules: what cannot be cast is NULL, numbers
// are cut off at the point to be integers.
func (p *printer) loadCast(n *tidb.FuncCastExpr) string {
	target, from, x := p.castTarget(n), p.kind(n.Expr), p.expr(n.Expr)
	switch target.Kind {
	case types.Boolean:
		return toTruth(x, from)
	case types.TinyInt:
		return toWhole(x, from, "TINYINT")
	case types.SmallInt:
		return toWhole(x, from, "SMALLINT")
	case types.Int, types.BigInt, types.LargeInt:
		return toWhole(x, from, target.DuckDB())
	case types.Float, types.Double:
		return tryCast(toNumber(x, from), target.DuckDB())
	case types.Decimal:
		if from == text { // digit by digit
			return tryCast(x, target.DuckDB())
		}
		return tryCast(toNumber(x, from), target.DuckDB())
	case types.Date:
		return p.convert(x, from, date)
	case types.DateTime:
		return roundSecond(p.toTimestamp(x, from), target.Scale)
	case types.Char, types.VarChar:
		return fmt.Sprintf("substr(%s, 1, %d)", toText(x, from), target.Length)
	case types.String:
		return toText(x, from)
	case types.JSON, types.Variant:
		return castJSON(x, from)
	}
	switch from {
	case text:
		return tryCast(tryCast(x, "JSON"), target.DuckDB())
	case json, null, kinds[target.Kind]:
		return tryCast(x, target.DuckDB())
	}
	mismatch(from, kinds[target.Kind])
	return ""
}

// castJSON reads a text as JSON, and makes JSON of anything else. It is kept as
// text, as columns keep it.
func castJSON(x string, from kind) string {
	switch from {
	case text:
		x = tryCast(x, "JSON")
	case json:
	default:
		x = "to_json(" + x + ")"
	}
	return cast(x, "VARCHAR")
}

// roundSecond rounds a time to so many digits of the second.
func roundSecond(x string, digits int) string {
	if digits >= types.MaxDateTimeScale {
		return x
	}
	unit := 1
	for range types.MaxDateTimeScale - digits {
		unit *= 10
	}
	return fmt.Sprintf("time_bucket(to_microseconds(%d), %s + to_microseconds(%d))", unit, x, unit/2)
}
