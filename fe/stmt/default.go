package stmt

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"shoal/fe/errno"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/types"
)

// setDefault takes over a column's DEFAULT clause, after checking that every
// row could have it.
func setDefault(column *typesv1.Column, c ast.Column) error {
	d := c.Default
	switch {
	case d == nil:
		return nil
	case d.Null && c.NotNull:
		return badDefault(c, "NULL for a NOT NULL column")
	case d.Null:
		return nil
	case d.CurrentTimestamp && c.Type.Kind != types.DateTime:
		return badDefault(c, "CURRENT_TIMESTAMP is for DATETIME columns")
	case d.CurrentTimestamp && d.Scale > c.Type.Scale:
		return badDefault(c, "CURRENT_TIMESTAMP has more digits than the column")
	case d.CurrentTimestamp:
		column.DefaultCurrentTimestamp = true
		return nil
	case !fits(c.Type, d.Text):
		return badDefault(c, "'"+d.Text+"' is no "+c.Type.String())
	}
	column.DefaultValue = &d.Text
	return nil
}

func badDefault(c ast.Column, why string) error {
	return errno.New(errno.BadDefault, "Invalid default value for '%s': %s", c.Name, why)
}

var (
	decimalForm = regexp.MustCompile(`^[+-]?(\d+)(?:\.(\d*))?$`)
	floatForm   = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
)

var floatBits = map[types.Kind]int{types.Float: 32, types.Double: 64}

// fits tells whether a literal's text is a value of the type as it is: what
// would have to be rounded, cut or turned into NULL is not.
func fits(t types.Type, text string) bool {
	switch t.Kind {
	case types.Boolean:
		return text == "0" || text == "1" || strings.EqualFold(text, "true") || strings.EqualFold(text, "false")
	case types.LargeInt:
		return fitsDecimal(text, types.MaxDecimalPrecision, 0)
	case types.TinyInt, types.SmallInt, types.Int, types.BigInt:
		n, ok := new(big.Int).SetString(text, 10)
		limit := new(big.Int).Lsh(big.NewInt(1), uint(t.IntegerBits()-1))
		return ok && n.Cmp(limit) < 0 && n.Cmp(new(big.Int).Neg(limit)) >= 0
	case types.Float, types.Double:
		_, err := strconv.ParseFloat(text, floatBits[t.Kind])
		return floatForm.MatchString(text) && err == nil
	case types.Decimal:
		return fitsDecimal(text, t.Precision, t.Scale)
	case types.Date:
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	case types.DateTime:
		return fitsDateTime(text, t.Scale)
	case types.Char, types.VarChar:
		return len(text) <= t.Length
	case types.JSON:
		return json.Valid([]byte(text))
	case types.Array, types.Map, types.Struct, types.Variant: // none but NULL, as in Doris
		return false
	}
	return true
}

func fitsDecimal(text string, precision, scale int) bool {
	parts := decimalForm.FindStringSubmatch(text)
	if parts == nil {
		return false
	}
	whole := strings.TrimLeft(parts[1], "0")
	fraction := strings.TrimRight(parts[2], "0")
	return len(whole) <= precision-scale && len(fraction) <= scale
}

func fitsDateTime(text string, scale int) bool {
	if _, err := time.Parse(time.DateOnly, text); err == nil {
		return true
	}
	if _, err := time.Parse(time.DateTime, text); err != nil {
		return false
	}
	_, fraction, _ := strings.Cut(text, ".")
	return len(strings.TrimRight(fraction, "0")) <= scale
}
