package loaddef

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"shoal/fe/errno"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/nearest"
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
	d := &Definition{Load: clone(load)}
	if load.MultiTable {
		return nil
	}
	return d.checkMapping(&Target{Schema: schema})
}

// checkFit checks the definition against its table.
func (d *Definition) checkFit(target *Target) error {
	if target == nil {
		return nil
	}
	for _, name := range d.Load.TablePartitions {
		if !strings.EqualFold(name, target.Table) {
			return refuse("Unknown partition '%s' in table '%s': a table has one partition, of its own name", name, target.Table)
		}
	}
	if err := d.checkMapping(target); err != nil {
		return err
	}
	d.noteSpelling(target)
	return nil
}

// checkMapping checks columns and conditions.
func (d *Definition) checkMapping(target *Target) error {
	fields, derived := d.sourceFields(target.Schema)
	if err := d.checkPathCount(fields); err != nil {
		return err
	}
	filled := slices.Concat(fields, derived)
	if n := len(d.Load.JsonPaths); n > 0 {
		filled = slices.Concat(fields[:n], derived)
	}
	for _, c := range target.Schema.Columns {
		if !c.Nullable && c.DefaultValue == nil && !c.DefaultCurrentTimestamp && indexFold(filled, c.Name) < 0 {
			return refuse("Column '%s' is NOT NULL and has no default value, but nothing fills it", c.Name)
		}
	}
	if err := d.checkDerived(target, fields); err != nil {
		return err
	}
	if err := checkExpression("PRECEDING FILTER", d.Load.PrecedingFilter, sourceScope(fields)); err != nil {
		return err
	}
	return checkExpression("WHERE", d.Load.Where, tableScope(target.Schema))
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

// checkDerived checks derived columns. An expression may use the source's
// fields and what was derived before it; within it a field wins.
func (d *Definition) checkDerived(target *Target, fields []string) error {
	scope := sourceScope(fields)
	names := columnNames(target.Schema)
	for i, c := range d.Load.LoadColumns {
		if c.Expr == "" {
			continue
		}
		if indexFold(names, c.Name) < 0 && !d.usedAfter(i, c.Name) {
			return errno.New(errno.BadField, "Unknown column '%s' in %s%s", c.Name, cmp.Or(target.Table, "the table"), nearest.Hint(c.Name, names))
		}
		if err := checkExpression("COLUMNS: "+c.Name, c.Expr, scope); err != nil {
			return err
		}
		scope = withDerived(scope, c.Name)
	}
	return nil
}

// usedAfter tells whether an expression after the i-th column has the name.
func (d *Definition) usedAfter(i int, name string) bool {
	return slices.ContainsFunc(d.Load.LoadColumns[i+1:], func(c *typesv1.LoadColumn) bool {
		return strings.Contains(strings.ToLower(c.Expr), strings.ToLower(name))
	})
}

// noteSpelling points out fields that fill nothing and look like a column that
// nothing fills.
func (d *Definition) noteSpelling(target *Target) {
	all := columnNames(target.Schema)
	fields, derived := d.sourceFields(target.Schema)
	free := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return indexFold(slices.Concat(fields, derived), name) >= 0 })
	for _, name := range fields {
		if indexFold(all, name) >= 0 || d.usedAfter(-1, name) {
			continue
		}
		if near := nearest.Of(name, free); near != "" {
			d.note(fmt.Sprintf("field '%s' fills no column of '%s' and no expression uses it; did you mean '%s', which nothing fills?", name, target.Table, near))
		}
	}
}
