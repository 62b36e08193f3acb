package catalog

import (
	"fmt"
	"slices"
	"strings"

	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// RenameDatabase gives a database another name.
func (c *Catalog) RenameDatabase(id uint64, name string) error {
	d, ok := c.databases[id]
	switch {
	case !ok:
		return fmt.Errorf("%w: id %d", ErrNoDatabase, id)
	case name == "":
		return fmt.Errorf("%w: a database needs a name", ErrNoDatabase)
	case c.Database(name) != nil:
		return fmt.Errorf("%w: %s", ErrDatabaseExists, name)
	}
	delete(c.databaseIDs, d.Name)
	d = cow.Copy(d)
	d.Name = name
	c.putDatabase(d)
	return nil
}

// RenameTable gives a table another name in its database.
func (c *Catalog) RenameTable(id uint64, name string) error {
	t, ok := c.tables[id]
	switch {
	case !ok:
		return fmt.Errorf("%w: id %d", ErrNoTable, id)
	case name == "":
		return fmt.Errorf("%w: a table needs a name", ErrBadTable)
	case c.Table(t.DatabaseId, name) != nil:
		return fmt.Errorf("%w: %s", ErrTableExists, name)
	}
	delete(c.tableIDs, tableName{t.DatabaseId, t.Name})
	t = cow.Copy(t)
	t.Name = name
	c.putTable(t)
	return nil
}

// AlterTable makes a table's next schema. Columns that it had are known by
// their field ids, whatever they are called now; new ones get ids that no
// column of the table ever had.
func (c *Catalog) AlterTable(a *raftlogv1.AlterTable) error {
	t, ok := c.tables[a.GetTableId()]
	if !ok {
		return fmt.Errorf("%w: id %d", ErrNoTable, a.GetTableId())
	}
	current := Newest(t)
	if a.FromVersion != current.Version {
		return fmt.Errorf("%w: %s has version %d, not %d", ErrSchemaChanged, t.Name, current.Version, a.FromVersion)
	}
	if err := checkColumns(current.Columns, a.Columns); err != nil {
		return err
	}
	next := cow.Copy(t)
	columns := make([]*typesv1.Column, len(a.Columns))
	next.DuplicateKeys = nil
	for i, column := range a.Columns {
		if column.FieldId == 0 {
			column = cow.Copy(column)
			next.LastFieldId++
			column.FieldId = next.LastFieldId
		}
		if column.Key {
			next.DuplicateKeys = append(next.DuplicateKeys, column.Name)
		}
		columns[i] = column
	}
	next.Schemas = append(slices.Clip(t.Schemas), &typesv1.Schema{Version: current.Version + 1, Columns: columns})
	next.Distribution = renamed(t.Distribution, current.Columns, columns)
	if a.Comment != nil {
		next.Comment = *a.Comment
	}
	c.tables[t.Id] = next
	return nil
}

// checkColumns refuses columns that a table with the current ones cannot
// become.
func checkColumns(current, columns []*typesv1.Column) error {
	if len(columns) == 0 {
		return fmt.Errorf("%w: a table needs a column", ErrBadTable)
	}
	for i, column := range columns {
		id := column.FieldId
		if id != 0 && !hasField(current, id) {
			return fmt.Errorf("%w: column %s has field id %d, which the table has not", ErrBadTable, column.Name, id)
		}
		for _, before := range columns[:i] {
			if strings.EqualFold(before.Name, column.Name) || id != 0 && before.FieldId == id {
				return fmt.Errorf("%w: column %s is there twice", ErrBadTable, column.Name)
			}
		}
	}
	return nil
}

func hasField(columns []*typesv1.Column, id int32) bool {
	return slices.ContainsFunc(columns, func(c *typesv1.Column) bool { return c.FieldId == id })
}

// renamed is a list of column names of from, as the same columns are called in
// to; those that are gone are left out.
func renamed(names []string, from, to []*typesv1.Column) []string {
	var out []string
	for _, name := range names {
		i := slices.IndexFunc(from, func(c *typesv1.Column) bool { return c.Name == name })
		if i < 0 {
			continue
		}
		j := slices.IndexFunc(to, func(c *typesv1.Column) bool { return c.FieldId == from[i].FieldId })
		if j >= 0 {
			out = append(out, to[j].Name)
		}
	}
	return out
}

// TruncateTable takes a table's rowsets out of its version. The ledgers of the
// jobs that loaded them stay as they are, so the rows do not come again; the
// files stay too, for queries that read them now. index is the log entry's.
func (c *Catalog) TruncateTable(id, index uint64) error {
	t, ok := c.tables[id]
	if !ok {
		return fmt.Errorf("%w: id %d", ErrNoTable, id)
	}
	delete(c.rowsets, id)
	t = cow.Copy(t)
	t.Version = index
	c.tables[id] = t
	return nil
}
