package stmt

import (
	"context"
	"slices"
	"strings"

	"shoal/fe/errno"
	"shoal/fe/literal"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/internal/textrow"
	"shoal/sql/ast"
)

// set carries out SET, item by item as MySQL does: those before a wrong one
// stay set.
func (e *Executor) set(ctx context.Context, s *session.Session, stmt *ast.Set, w result.Writer) error {
	for _, item := range stmt.Items {
		if err := e.setItem(ctx, s, item); err != nil {
			return err
		}
	}
	w.OK(0, "")
	return nil
}

func (e *Executor) setItem(ctx context.Context, s *session.Session, item ast.SetItem) error {
	switch item := item.(type) {
	case *ast.SetNames:
		return s.SetNames(item.Charset, item.Collate)
	case *ast.SetCharset:
		return s.SetCharacterSet(item.Charset)
	case *ast.SetTransaction:
		return setTransaction(s, item)
	case *ast.SetUserVariable:
		value, err := e.value(ctx, s, item.Value)
		if err != nil {
			return err
		}
		s.SetUserVar(item.Name, value)
		return nil
	case *ast.SetVariable:
		return e.setVariable(ctx, s, item)
	}
	return errno.New(errno.NotSupportedYet, "this form of SET is not supported yet")
}

func (e *Executor) setVariable(ctx context.Context, s *session.Session, item *ast.SetVariable) error {
	scope := sessionScope(item.Scope)
	if item.Value.Default {
		return s.SetDefault(scope, item.Name)
	}
	value, err := e.value(ctx, s, item.Value)
	if err != nil {
		return err
	}
	return s.Set(scope, item.Name, value)
}

// setTransaction sets the isolation level and access mode, which nothing here
// depends on: drivers set them and read them back.
func setTransaction(s *session.Session, item *ast.SetTransaction) error {
	scope := sessionScope(item.Scope)
	if item.Isolation != "" {
		if err := s.Set(scope, "transaction_isolation", literal.String(item.Isolation)); err != nil {
			return err
		}
	}
	if item.ReadOnly == nil {
		return nil
	}
	value := literal.Int(0)
	if *item.ReadOnly {
		value = literal.Int(1)
	}
	return s.Set(scope, "transaction_read_only", value)
}

func sessionScope(scope ast.Scope) session.Scope {
	if scope == ast.Global {
		return session.GlobalScope
	}
	return session.SessionScope
}

// value evaluates the right side of an assignment: a literal by itself, any
// other expression as a query without tables.
func (e *Executor) value(ctx context.Context, s *session.Session, v ast.Value) (literal.Value, error) {
	if v.Literal == nil {
		return e.evaluate(ctx, s, v.Expr.Text)
	}
	text := strings.TrimSpace(v.Expr.Text)
	if strings.EqualFold(text, "NULL") {
		return literal.Null(), nil
	}
	if strings.HasPrefix(text, "'") || strings.HasPrefix(text, `"`) {
		return literal.String(*v.Literal), nil
	}
	if number, err := literal.Decimal(*v.Literal); err == nil {
		return number, nil
	}
	return literal.String(*v.Literal), nil
}

// evaluate runs an expression as a query of one row and one column.
func (e *Executor) evaluate(ctx context.Context, s *session.Session, expr string) (literal.Value, error) {
	var one oneCell
	query := "SELECT " + expr
	if err := e.carryOut(ctx, s, &ast.Select{Text: query}, query, &one); err != nil {
		return literal.Null(), err
	}
	if one.rows != 1 || one.columns != 1 {
		return literal.Null(), errno.New(errno.Unknown, "%s is not one value but %d rows of %d columns", expr, one.rows, one.columns)
	}
	if one.cell == nil {
		return literal.Null(), nil
	}
	if number, err := literal.Decimal(*one.cell); err == nil && one.number {
		return number, nil
	}
	return literal.String(*one.cell), nil
}

// oneCell is a Writer that keeps the last cell.
type oneCell struct {
	rows, columns int
	number        bool
	cell          *string
}

// numbers are the types whose cells are numbers.
var numbers = []string{"boolean", "tinyint", "smallint", "int", "bigint", "largeint", "float", "double", "decimal"}

func (o *oneCell) Columns(columns []result.Column) error {
	o.columns = len(columns)
	kind, _, _ := strings.Cut(columns[0].Type, "(")
	o.number = slices.Contains(numbers, kind)
	return nil
}

func (o *oneCell) Row(cells [][]byte) error {
	o.rows++
	o.cell = nil
	if cells[0] != nil {
		text := string(cells[0])
		o.cell = &text
	}
	return nil
}

func (o *oneCell) EncodedRow(row []byte) error {
	cells := make([][]byte, o.columns)
	if _, err := textrow.Next(row, cells); err != nil {
		return err
	}
	return o.Row(cells)
}

func (o *oneCell) Flush() error { return nil }

func (o *oneCell) OK(uint64, string) {}
