package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// Clone is a copy that stays as it is when c changes. It costs time by the
// number of tables, not of rowsets.
func (c *Catalog) Clone() *Catalog {
	return &Catalog{
		databases:   maps.Clone(c.databases),
		tables:      maps.Clone(c.tables),
		rowsets:     maps.Clone(c.rowsets),
		files:       maps.Clone(c.files),
		databaseIDs: maps.Clone(c.databaseIDs),
		tableIDs:    maps.Clone(c.tableIDs),
	}
}

// Len is how many records a snapshot has of c.
func (c *Catalog) Len() int {
	n := len(c.databases) + len(c.tables) + len(c.files)
	for _, list := range c.rowsets {
		n += len(list)
	}
	return n
}

// Records yields c as snapshots keep it, in the only order that Restore takes:
// databases by id, tables by id, rowsets by table and version, files by id.
func (c *Catalog) Records(yield func(*raftlogv1.SnapshotRecord) bool) {
	for _, id := range slices.Sorted(maps.Keys(c.databases)) {
		if !yield(&raftlogv1.SnapshotRecord{Body: &raftlogv1.SnapshotRecord_Database{Database: c.databases[id]}}) {
			return
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.tables)) {
		if !yield(&raftlogv1.SnapshotRecord{Body: &raftlogv1.SnapshotRecord_Table{Table: c.tables[id]}}) {
			return
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.rowsets)) {
		for _, r := range c.rowsets[id] {
			if !yield(&raftlogv1.SnapshotRecord{Body: &raftlogv1.SnapshotRecord_Rowset{Rowset: r}}) {
				return
			}
		}
	}
	for _, f := range c.allFiles() {
		if !yield(&raftlogv1.SnapshotRecord{Body: &raftlogv1.SnapshotRecord_File{File: f}}) {
			return
		}
	}
}

// RestoreDatabase adds a database from a snapshot. Errors of the four say
// what in the record can't be true.
func (c *Catalog) RestoreDatabase(d *raftlogv1.Database) error {
	if c.databases[d.Id] != nil || c.Database(d.Name) != nil || d.Name == "" {
		return fmt.Errorf("database %d %q is there twice or has no name", d.Id, d.Name)
	}
	c.putDatabase(d)
	return nil
}

// RestoreTable adds a table, whose database must be there.
func (c *Catalog) RestoreTable(t *raftlogv1.Table) error {
	if c.tables[t.Id] != nil || c.Table(t.DatabaseId, t.Name) != nil || c.databases[t.DatabaseId] == nil {
		return fmt.Errorf("table %d %q is there twice or has no database", t.Id, t.Name)
	}
	if !slices.IsSortedFunc(t.Schemas, func(a, b *typesv1.Schema) int { return cmp.Compare(a.Version, b.Version) }) || len(t.Schemas) == 0 {
		return fmt.Errorf("table %d %q has no schema or its schemas are out of order", t.Id, t.Name)
	}
	c.putTable(t)
	return nil
}

// RestoreRowset adds a rowset, whose table must be there.
func (c *Catalog) RestoreRowset(r *raftlogv1.TableRowset) error {
	list := c.rowsets[r.TableId]
	if c.tables[r.TableId] == nil || len(list) > 0 && list[len(list)-1].TxnId > r.TxnId {
		return fmt.Errorf("rowset %q of txn %d has no table or is out of order", r.GetRowset().GetPath(), r.TxnId)
	}
	c.rowsets[r.TableId] = append(list, r)
	return nil
}
