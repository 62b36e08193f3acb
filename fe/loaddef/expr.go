package loaddef

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"shoal/fe/errno"
	"shoal/internal/loadscope"
	"shoal/sql/parse"
	"shoal/sql/rewrite"
	"shoal/sql/types"
)

// compiled checks an expression over names by compiling it as a backend does.
// where it stands begins the error.
func (d *Definition) compiled(where, text string, names []loadscope.Name) (rewrite.Compiled, error) {
	expr, err := rewrite.LoadExpression(text, rewrite.Scope{
		Columns: loadscope.Scope(slices.Concat(names, loadscope.Metadata()), func(i int) string { return fmt.Sprintf("c%d", i) }),
		Zone:    d.Load.Timezone, Now: time.UnixMilli(0),
	})
	return expr, expressionError(where, err)
}

// checkFilter checks a condition, if there is one, and returns the names that
// it uses.
func (d *Definition) checkFilter(where, text string, names []loadscope.Name) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	expr, err := d.compiled(where, text, names)
	if err == nil {
		_, err = expr.Condition()
	}
	return expr.Columns, expressionError(where, err)
}

// checkValue checks the expression of a derived column, which becomes text for
// a column of type target.
func (d *Definition) checkValue(name, text string, names []loadscope.Name, target types.Type) (rewrite.Compiled, error) {
	where := "COLUMNS, " + name
	expr, err := d.compiled(where, text, names)
	if err == nil {
		_, err = expr.Text(target)
	}
	return expr, expressionError(where, err)
}

// expressionError gives a fault of an expression its MySQL number.
func expressionError(where string, err error) error {
	var syntax *parse.SyntaxError
	var unknown *rewrite.UnknownName
	var lacking *rewrite.Unsupported
	switch {
	case errors.As(err, &syntax):
		return errno.New(errno.Syntax, "%s: %s", where, syntax.Error())
	case errors.As(err, &unknown) && unknown.What == "function":
		return errno.New(errno.NoSuchProcedure, "%s: %v", where, err)
	case errors.As(err, &unknown):
		return errno.New(errno.BadField, "%s: %v", where, err)
	case errors.As(err, &lacking):
		return errno.New(errno.NotSupportedYet, "%s: %v", where, err)
	}
	return err
}
