package stmt

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"shoal/fe/errno"
	"shoal/fe/state/catalog"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/types"
)

// alteration is the columns of a table while the clauses of an ALTER TABLE are
// applied to them, one after the other. New ones have no field id yet.
type alteration struct {
	table       *raftlogv1.Table
	columns     []*typesv1.Column
	comment     *string // of the table, nil to leave it
	distributed map[int32]bool
	now         time.Time // in the session's zone
}

func newAlteration(t *raftlogv1.Table, now time.Time) *alteration {
	a := &alteration{table: t, now: now, distributed: map[int32]bool{}}
	for _, c := range catalog.Newest(t).Columns {
		a.columns = append(a.columns, proto.CloneOf(c))
		a.distributed[c.FieldId] = slices.Contains(t.Distribution, c.Name)
	}
	return a
}

// apply applies one clause; its error is for the client.
func (a *alteration) apply(clause ast.AlterClause) error {
	switch c := clause.(type) {
	case *ast.AddColumn:
		return a.add(c)
	case *ast.DropColumn:
		return a.drop(c.Name)
	case *ast.RenameColumn:
		return a.rename(c)
	case *ast.ModifyColumn:
		return a.modify(c)
	case *ast.CommentColumn:
		column, err := a.find(c.Name)
		if err == nil {
			column.Comment = c.Comment
		}
		return err
	case *ast.CommentTable:
		a.comment = &c.Comment
		return nil
	}
	return errno.New(errno.NotSupportedYet, "this clause of ALTER TABLE is not supported by Shoal")
}

func (a *alteration) index(name string) int {
	return slices.IndexFunc(a.columns, func(c *typesv1.Column) bool { return strings.EqualFold(c.Name, name) })
}

func (a *alteration) find(name string) (*typesv1.Column, error) {
	i := a.index(name)
	if i < 0 {
		return nil, errno.New(errno.BadField, "Unknown column '%s'", name)
	}
	return a.columns[i], nil
}

// others are the names of all columns but one, which may be nil.
func (a *alteration) others(but *typesv1.Column) []ast.Column {
	var out []ast.Column
	for _, c := range a.columns {
		if c != but {
			out = append(out, ast.Column{Name: c.Name})
		}
	}
	return out
}

func (a *alteration) add(c *ast.AddColumn) error {
	if err := checkColumn(a.others(nil), c.Column); err != nil {
		return err
	}
	column, err := newColumn(c.Column)
	if err != nil {
		return err
	}
	switch {
	case c.Key && !canBeKey(c.Column.Type):
		return errno.New(errno.WrongColumnSpec, "ADD COLUMN: column '%s' is %s, which cannot be a key", column.Name, column.Type)
	case c.Column.NotNull && column.DefaultValue == nil && !column.DefaultCurrentTimestamp:
		return errno.New(errno.BadDefault, "ADD COLUMN: column '%s' is NOT NULL and has no default value, which the rows of the table would get; give a DEFAULT", column.Name)
	}
	column.Key = c.Key
	column.InitialDefault = column.DefaultValue
	if column.DefaultCurrentTimestamp {
		column.InitialDefault = proto.String(timeText(a.now, c.Column.Type.Scale))
	}
	at := len(a.columns)
	if c.Key {
		at = a.keys()
	}
	return a.place(column, at, c.Position)
}

// newColumn is a column as it was defined.
func newColumn(c ast.Column) (*typesv1.Column, error) {
	column := &typesv1.Column{Name: c.Name, Type: c.Type.String(), Nullable: !c.NotNull, Comment: c.Comment}
	return column, setDefault(column, c)
}

// timeText is a time as the text of a DATETIME with scale digits of the second.
func timeText(t time.Time, scale int) string {
	format := time.DateTime
	if scale > 0 {
		format += "." + strings.Repeat("0", scale)
	}
	return t.Format(format)
}

// keys is how many key columns lead the table.
func (a *alteration) keys() int {
	return len(slices.DeleteFunc(slices.Clone(a.columns), func(c *typesv1.Column) bool { return !c.Key }))
}

// place puts a column at an index, unless a position was given. Keys lead the
// table.
func (a *alteration) place(column *typesv1.Column, at int, position ast.Position) error {
	if position.First {
		at = 0
	}
	if position.After != "" {
		before := a.index(position.After)
		if before < 0 {
			return errno.New(errno.BadField, "Unknown column '%s' after which '%s' should be", position.After, column.Name)
		}
		at = before + 1
	}
	a.columns = slices.Insert(a.columns, at, column)
	keys := a.keys()
	if i := slices.IndexFunc(a.columns, func(c *typesv1.Column) bool { return !c.Key }); i >= 0 && i < keys {
		return errno.New(errno.WrongColumnSpec, "column '%s' cannot be there: the key columns are the first of the table", column.Name)
	}
	return nil
}

func (a *alteration) drop(name string) error {
	i := a.index(name)
	if i < 0 {
		return errno.New(errno.CantDropField, "Can't DROP '%s'; check that column exists", name)
	}
	c := a.columns[i]
	switch {
	case c.Key:
		return errno.New(errno.CantDropField, "Can't DROP '%s'; it is a key column", c.Name)
	case a.distributed[c.FieldId]:
		return errno.New(errno.CantDropField, "Can't DROP '%s'; rows are distributed by it", c.Name)
	case len(a.columns) == 1:
		return errno.New(errno.CantDropField, "Can't DROP '%s'; it is the last column of the table", c.Name)
	}
	a.columns = slices.Delete(a.columns, i, i+1)
	return nil
}

func (a *alteration) rename(c *ast.RenameColumn) error {
	column, err := a.find(c.Name)
	if err != nil {
		return err
	}
	if err := checkColumn(a.others(column), ast.Column{Name: c.NewName}); err != nil {
		return err
	}
	column.Name = c.NewName
	return nil
}

// modify gives a column another type or place. What its definition does not
// say stays, but for NOT NULL, which may go and not come.
func (a *alteration) modify(c *ast.ModifyColumn) error {
	column, err := a.find(c.Column.Name)
	if err != nil {
		return err
	}
	next, err := newColumn(c.Column)
	if err != nil {
		return err
	}
	had, err := types.Parse(column.Type)
	if err != nil {
		return fmt.Errorf("column %s: %w", column.Name, err)
	}
	if err := had.CheckChange(c.Column.Type); err != nil {
		return errno.New(errno.Unknown, "MODIFY COLUMN '%s': %v", column.Name, err)
	}
	if had.Kind == types.Decimal && isText(c.Column.Type) && a.scaled(column.FieldId, had.Scale) {
		return errno.New(errno.Unknown, "MODIFY COLUMN '%s': it had fewer digits after the point before, and older rows would show as many again", column.Name)
	}
	switch {
	case column.Nullable && !next.Nullable:
		return errno.New(errno.Unknown, "MODIFY COLUMN '%s': a column that may be NULL cannot become NOT NULL", column.Name)
	case c.Key && !column.Key:
		return errno.New(errno.Unknown, "MODIFY COLUMN '%s': it cannot become a key", column.Name)
	case column.Key && !canBeKey(c.Column.Type):
		return errno.New(errno.WrongColumnSpec, "MODIFY COLUMN '%s': it is a key, and %s cannot be one", column.Name, next.Type)
	case c.Column.Default != nil && !sameDefault(column, next):
		return errno.New(errno.Unknown, "MODIFY COLUMN '%s': its default value cannot change", column.Name)
	}
	column.Type, column.Nullable = next.Type, next.Nullable
	if isText(c.Column.Type) {
		column.DefaultValue, column.InitialDefault = asShown(had, column.DefaultValue), asShown(had, column.InitialDefault)
	}
	if next.Comment != "" {
		column.Comment = next.Comment
	}
	if c.Position == (ast.Position{}) {
		return nil
	}
	i := a.index(column.Name)
	a.columns = slices.Delete(a.columns, i, i+1)
	return a.place(column, i, c.Position)
}

func isText(t types.Type) bool { return t.Kind == types.VarChar || t.Kind == types.String }

// scaled tells whether a column of DECIMALs ever had another scale: files are
// cast from the type that they have, not by way of those between.
func (a *alteration) scaled(fieldID int32, scale int) bool {
	for _, schema := range a.table.Schemas {
		for _, c := range schema.Columns {
			t, err := types.Parse(c.Type)
			if c.FieldId == fieldID && err == nil && t.Kind == types.Decimal && t.Scale != scale {
				return true
			}
		}
	}
	return false
}

// asShown is a literal of a number's type as a query shows it: as a text it
// must go on to look so.
func asShown(t types.Type, text *string) *string {
	if text == nil {
		return nil
	}
	n, ok := new(big.Rat).SetString(*text)
	switch {
	case ok && t.IntegerBits() > 0:
		return proto.String(n.FloatString(0))
	case ok && t.Kind == types.Decimal:
		return proto.String(n.FloatString(t.Scale))
	}
	return text
}

func sameDefault(a, b *typesv1.Column) bool {
	return a.GetDefaultValue() == b.GetDefaultValue() && (a.DefaultValue == nil) == (b.DefaultValue == nil) &&
		a.DefaultCurrentTimestamp == b.DefaultCurrentTimestamp
}
