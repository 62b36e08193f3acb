// Package catalog is the part of the replicated state that holds databases,
// tables, their schemas and the rowsets that a table consists of, and the files
// that CREATE FILE keeps.
//
// Names are case-sensitive, as Doris's are by default. A table has a list of
// rowsets, in the order in which they became visible, and a version: the log
// index of the last change of the list. Lists only grow at their end, or are
// begun anew, so a reader's slice is a version that stays what it is, without a
// copy. A column is its field id: names and types of it change, and no id
// is given twice. Messages are replaced and never changed. Pure, like all of
// the replicated state.
package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// What a statement may get wrong. They come wrapped with the name or id.
var (
	ErrDatabaseExists = errors.New("database exists")
	ErrNoDatabase     = errors.New("no such database")
	ErrTableExists    = errors.New("table exists")
	ErrNoTable        = errors.New("no such table")
	// ErrBadTable is for tables without name, or without exactly one schema
	// with columns.
	ErrBadTable = errors.New("bad table definition")
	// ErrSchemaChanged is for rows that were made by another schema version
	// than the newest, and for changes that were made from one: both may be made
	// again.
	ErrSchemaChanged = errors.New("the table's schema has changed")
)

type tableName struct {
	databaseID uint64
	name       string
}

// A Catalog is databases, tables, rowsets and files.
type Catalog struct {
	databases map[uint64]*raftlogv1.Database
	tables    map[uint64]*raftlogv1.Table
	rowsets   map[uint64][]*raftlogv1.TableRowset // by table
	files     map[fileName]*raftlogv1.File

	databaseIDs map[string]uint64
	tableIDs    map[tableName]uint64
}

// New is an empty Catalog.
func New() *Catalog {
	return &Catalog{
		databases:   map[uint64]*raftlogv1.Database{},
		tables:      map[uint64]*raftlogv1.Table{},
		rowsets:     map[uint64][]*raftlogv1.TableRowset{},
		files:       map[fileName]*raftlogv1.File{},
		databaseIDs: map[string]uint64{},
		tableIDs:    map[tableName]uint64{},
	}
}

// CreateDatabase makes a database; its id is taken from nextID.
func (c *Catalog) CreateDatabase(name string, atMs int64, nextID func() uint64) (uint64, error) {
	if name == "" {
		return 0, fmt.Errorf("%w: a database needs a name", ErrNoDatabase)
	}
	if _, ok := c.databaseIDs[name]; ok {
		return 0, fmt.Errorf("%w: %s", ErrDatabaseExists, name)
	}
	d := &raftlogv1.Database{Id: nextID(), Name: name, CreatedMs: atMs}
	c.putDatabase(d)
	return d.Id, nil
}

// DropDatabase removes a database with all its tables and files, as Doris
// does. Jobs that load into them are the scheduler's to cancel.
func (c *Catalog) DropDatabase(name string) error {
	id, ok := c.databaseIDs[name]
	if !ok {
		return fmt.Errorf("%w: %s", ErrNoDatabase, name)
	}
	for _, t := range c.Tables(id) {
		c.removeTable(t)
	}
	for _, f := range c.Files(id) {
		delete(c.files, nameOf(f))
	}
	delete(c.databases, id)
	delete(c.databaseIDs, name)
	return nil
}

// CreateTable makes a table out of a definition with one schema; its id and
// the ids of its columns are given here.
func (c *Catalog) CreateTable(def *raftlogv1.Table, atMs int64, nextID func() uint64) (uint64, error) {
	if def.GetName() == "" || len(def.Schemas) != 1 || len(def.Schemas[0].Columns) == 0 {
		return 0, fmt.Errorf("%w: a table needs a name and one schema with columns", ErrBadTable)
	}
	if _, ok := c.databases[def.DatabaseId]; !ok {
		return 0, fmt.Errorf("%w: id %d", ErrNoDatabase, def.DatabaseId)
	}
	if _, ok := c.tableIDs[tableName{def.DatabaseId, def.Name}]; ok {
		return 0, fmt.Errorf("%w: %s", ErrTableExists, def.Name)
	}
	t := cow.Copy(def)
	t.Id, t.CreatedMs, t.Version = nextID(), atMs, 0
	columns := make([]*typesv1.Column, len(def.Schemas[0].Columns))
	for i, column := range def.Schemas[0].Columns {
		columns[i] = cow.Copy(column)
		columns[i].FieldId = int32(i + 1)
	}
	t.Schemas = []*typesv1.Schema{{Version: 1, Columns: columns}}
	t.LastFieldId = int32(len(columns))
	c.putTable(t)
	return t.Id, nil
}

// DropTable removes a table and its rowsets.
func (c *Catalog) DropTable(id uint64) error {
	t, ok := c.tables[id]
	if !ok {
		return fmt.Errorf("%w: id %d", ErrNoTable, id)
	}
	c.removeTable(t)
	return nil
}

// Newest is a table's newest schema: the one that is written, and that queries
// see.
func Newest(t *raftlogv1.Table) *typesv1.Schema { return t.Schemas[len(t.Schemas)-1] }

// CheckWrite tells why rows of a schema version can't be added to a table of a
// database, nil if they can. Only the newest version is written.
func (c *Catalog) CheckWrite(databaseID, tableID uint64, schemaVersion uint32) error {
	t, ok := c.tables[tableID]
	if !ok || t.DatabaseId != databaseID {
		return fmt.Errorf("%w: id %d was dropped", ErrNoTable, tableID)
	}
	if newest := Newest(t).Version; schemaVersion != newest {
		return fmt.Errorf("%w: table %s has schema version %d, the rows are of version %d", ErrSchemaChanged, t.Name, newest, schemaVersion)
	}
	return nil
}

// AddRowset makes a rowset visible in a table that CheckWrite passed. It takes
// constant time, however many rowsets there are.
func (c *Catalog) AddRowset(r *raftlogv1.TableRowset) {
	c.rowsets[r.TableId] = append(c.rowsets[r.TableId], r)
	t := cow.Copy(c.tables[r.TableId])
	t.Version = r.TxnId
	c.tables[r.TableId] = t
}

func (c *Catalog) putDatabase(d *raftlogv1.Database) {
	c.databases[d.Id] = d
	c.databaseIDs[d.Name] = d.Id
}

func (c *Catalog) putTable(t *raftlogv1.Table) {
	c.tables[t.Id] = t
	c.tableIDs[tableName{t.DatabaseId, t.Name}] = t.Id
}

func (c *Catalog) removeTable(t *raftlogv1.Table) {
	delete(c.tables, t.Id)
	delete(c.rowsets, t.Id)
	delete(c.tableIDs, tableName{t.DatabaseId, t.Name})
}

// Database is the database of that name, nil if there is none.
func (c *Catalog) Database(name string) *raftlogv1.Database {
	return c.databases[c.databaseIDs[name]]
}

// DatabaseByID is the database of that id, nil if there is none.
func (c *Catalog) DatabaseByID(id uint64) *raftlogv1.Database { return c.databases[id] }

// Databases are ordered by name.
func (c *Catalog) Databases() []*raftlogv1.Database {
	return slices.SortedFunc(maps.Values(c.databases), func(a, b *raftlogv1.Database) int { return cmp.Compare(a.Name, b.Name) })
}

// Table is the table of that name in a database, nil if there is none.
func (c *Catalog) Table(databaseID uint64, name string) *raftlogv1.Table {
	return c.tables[c.tableIDs[tableName{databaseID, name}]]
}

// TableByID is the table of that id, nil if there is none.
func (c *Catalog) TableByID(id uint64) *raftlogv1.Table { return c.tables[id] }

// Tables of a database, ordered by name.
func (c *Catalog) Tables(databaseID uint64) []*raftlogv1.Table {
	var tables []*raftlogv1.Table
	for _, t := range c.tables {
		if t.DatabaseId == databaseID {
			tables = append(tables, t)
		}
	}
	slices.SortFunc(tables, func(a, b *raftlogv1.Table) int { return cmp.Compare(a.Name, b.Name) })
	return tables
}

// Rowsets is a table's current version, in the order in which the rowsets
// became visible. The slice does not change any more.
func (c *Catalog) Rowsets(tableID uint64) []*raftlogv1.TableRowset {
	return slices.Clip(c.rowsets[tableID])
}
