package loaddef

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"shoal/fe/errno"
	"shoal/internal/loadscope"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/nearest"
	"shoal/sql/types"
)

// readColumns reads COLUMNS(…). Names that are the table's are kept in its
// spelling.
func (d *Definition) readColumns(columns []ast.LoadColumn, target *Target) error {
	var plain, derived []string
	var out []*typesv1.LoadColumn
	names := columnNames(target.Schema)
	for _, c := range columns {
		column := &typesv1.LoadColumn{Name: c.Name}
		if i := indexFold(names, c.Name); i >= 0 {
			column.Name = names[i]
		}
		seen := &plain
		if c.Expr != nil {
			column.Expr, seen = c.Expr.Text, &derived
		}
		if indexFold(*seen, c.Name) >= 0 {
			return errno.New(errno.DuplicateColumn, "Duplicate column '%s' in COLUMNS", column.Name)
		}
		*seen = append(*seen, c.Name)
		out = append(out, column)
	}
	d.Load.LoadColumns = out
	return nil
}

// Columns is COLUMNS(…) without the parentheses; empty for all columns.
func Columns(load *typesv1.RoutineLoad) string {
	var parts []string
	for _, c := range clone(load).LoadColumns {
		if c.Expr != "" {
			parts = append(parts, c.Name+"="+c.Expr)
		} else {
			parts = append(parts, c.Name)
		}
	}
	return strings.Join(parts, ",")
}

func columnNames(schema *typesv1.Schema) []string {
	names := make([]string, len(schema.GetColumns()))
	for i, c := range schema.GetColumns() {
		names[i] = c.Name
	}
	return names
}

// CheckFit tells why a definition does not fit a schema of its table any more;
// nil if it does, and for a multi-table job. The error is one sentence.
func CheckFit(load *typesv1.RoutineLoad, schema *typesv1.Schema) error {
	if load.MultiTable {
		return nil
	}
	d := &Definition{Load: clone(load)}
	_, err := d.checkMapping(&Target{Schema: schema})
	return err
}

// checkFit checks the definition against its table.
func (d *Definition) checkFit(target *Target) error {
	if target == nil {
		return nil
	}
	used, err := d.checkMapping(target)
	if err == nil {
		d.noteSpelling(target, used)
	}
	return err
}

// checkMapping checks columns and conditions. It returns the names of fields
// and derived columns that expressions use.
func (d *Definition) checkMapping(target *Target) (used []string, err error) {
	columns, err := loadscope.Columns(target.Schema)
	if err != nil {
		return nil, refuse("%v", err)
	}
	fields, derived := d.sourceFields(target.Schema)
	if err := d.checkPathCount(fields); err != nil {
		return nil, err
	}
	filled := slices.Concat(fields, derived)
	if n := len(d.Load.JsonPaths); n > 0 {
		filled = slices.Concat(fields[:n], derived)
	}
	for _, c := range target.Schema.Columns {
		if !c.Nullable && c.DefaultValue == nil && !c.DefaultCurrentTimestamp && indexFold(filled, c.Name) < 0 {
			return nil, refuse("Column '%s' is NOT NULL and has no default value, but nothing fills it", c.Name)
		}
	}
	used, err = d.checkFilter("PRECEDING FILTER", d.Load.PrecedingFilter, loadscope.Fields(fields))
	if err != nil {
		return nil, err
	}
	inColumns, err := d.checkDerived(target, columns, fields)
	if err != nil {
		return nil, err
	}
	_, err = d.checkFilter("WHERE", d.Load.Where, columns)
	return slices.Concat(used, inColumns), err
}

// sourceFields is the fields of the source, and the derived columns. If COLUMNS
// has no plain name the fields are the table's columns, as in Doris.
func (d *Definition) sourceFields(schema *typesv1.Schema) (fields, derived []string) {
	for _, c := range d.Load.LoadColumns {
		if c.Expr == "" {
			fields = append(fields, c.Name)
		} else {
			derived = append(derived, c.Name)
		}
	}
	if len(fields) == 0 {
		fields = columnNames(schema)
	}
	return fields, derived
}

// checkPathCount compares jsonpaths with the fields that they are, by position.
// Fewer leave the last ones without a value, as in Doris.
func (d *Definition) checkPathCount(fields []string) error {
	n := len(d.Load.JsonPaths)
	switch {
	case n > len(fields):
		return refuse("jsonpaths has %d paths, but there are only %d fields for them: %s", n, len(fields), strings.Join(fields, ", "))
	case n > 0 && n < len(fields):
		d.note(fmt.Sprintf("jsonpaths has %d paths for %d fields: nothing fills %s", n, len(fields), strings.Join(fields[n:], ", ")))
	}
	return nil
}

// checkDerived checks derived columns and returns the names that they use. An
// expression may use the source's fields and what was derived before it; within
// it a field wins. What is derived must fill a column or be used, which what has a
// field's name cannot be.
func (d *Definition) checkDerived(target *Target, columns []loadscope.Name, fields []string) (used []string, err error) {
	names := loadscope.Fields(fields)
	var aside []string
	for _, c := range d.Load.LoadColumns {
		if c.Expr == "" {
			continue
		}
		typ := types.Type{Kind: types.String}
		if i := slices.IndexFunc(columns, func(n loadscope.Name) bool { return strings.EqualFold(n.Name, c.Name) }); i >= 0 {
			typ = columns[i].Type
		} else {
			aside = append(aside, c.Name)
		}
		expr, err := d.checkValue(c.Name, c.Expr, names, typ)
		if err != nil {
			return nil, err
		}
		used = append(used, expr.Columns...)
		names = append(names, loadscope.Name{Name: c.Name, Type: expr.Type})
	}
	for _, name := range aside {
		if indexFold(used, name) < 0 || indexFold(fields, name) >= 0 {
			return nil, errno.New(errno.BadField, "Unknown column '%s' in %s%s", name, cmp.Or(target.Table, "the table"), nearest.Hint(name, columnNames(target.Schema)))
		}
	}
	return used, nil
}

// noteSpelling points out fields that nothing uses and that look like a column
// that nothing fills.
func (d *Definition) noteSpelling(target *Target, used []string) {
	all := columnNames(target.Schema)
	fields, derived := d.sourceFields(target.Schema)
	free := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return indexFold(slices.Concat(fields, derived), name) >= 0 })
	for _, name := range fields {
		if indexFold(all, name) >= 0 || indexFold(used, name) >= 0 {
			continue
		}
		if near := nearest.Of(name, free); near != "" {
			d.note(fmt.Sprintf("field '%s' fills no column of '%s' and no expression uses it; did you mean '%s', which nothing fills?", name, target.Table, near))
		}
	}
}
