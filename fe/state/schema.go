package state

import (
	raftlogv1 "shoal/proto/raftlog/v1"
)

// A task is given tables as they are when it is placed. A record that was
// produced after CREATE TABLE or ALTER TABLE answered must be mapped by what
// they made, so a change of tables ends at once what was placed before: the
// epochs of the tasks that it concerns are raised by the same log entry, their
// records come again, and the leader places them anew. What was committed
// before stays as it is: rowsets are read by field id, whatever version wrote
// them.

// createTable makes a table; multi-table jobs of its database may load into it
// from now on.
func (s *State) createTable(c *raftlogv1.CreateTable, atMs int64) (uint64, error) {
	id, err := s.catalog.CreateTable(c.GetTable(), atMs, s.cluster.NextID)
	if err == nil {
		s.tableChanged(c.Table.DatabaseId, 0)
	}
	return id, err
}

// dropDatabase removes a database with its tables. Its jobs are the leader's to
// cancel.
func (s *State) dropDatabase(name string, e entry) error {
	var rowsets []*raftlogv1.TableRowset
	for _, t := range s.catalog.Tables(s.catalog.Database(name).GetId()) {
		rowsets = append(rowsets, s.catalog.Rowsets(t.Id)...)
	}
	if err := s.catalog.DropDatabase(name); err != nil {
		return err
	}
	letGo(s, e, rowsets)
	return nil
}

// dropTable removes a table. A job that loads into it only is the leader's to
// cancel.
func (s *State) dropTable(id uint64, e entry) error {
	table, rowsets := s.catalog.TableByID(id), s.catalog.Rowsets(id)
	if err := s.catalog.DropTable(id); err != nil {
		return err
	}
	s.cut(rowsets, e)
	s.tableChanged(table.DatabaseId, 0)
	return nil
}

// truncateTable takes a table's rowsets out of it.
func (s *State) truncateTable(id uint64, e entry) error {
	rowsets := s.catalog.Rowsets(id)
	if err := s.catalog.TruncateTable(id, e.index); err != nil {
		return err
	}
	s.cut(rowsets, e)
	return nil
}

// cut notes that rowsets are gone, so that the check of a ledger does not look
// for them. What DROP DATABASE takes goes with its jobs.
func (s *State) cut(rowsets []*raftlogv1.TableRowset, e entry) {
	s.ledgers.Cut(rowsets)
	s.jobs.Cut(rowsets)
	letGo(s, e, rowsets)
}

// renameTable gives a table another name. Jobs know it by its id; the messages
// of multi-table jobs know it by the name.
func (s *State) renameTable(c *raftlogv1.RenameTable) error {
	if err := s.catalog.RenameTable(c.GetTableId(), c.GetName()); err != nil {
		return err
	}
	s.jobs.TableRenamed(c.TableId, c.Name)
	s.tableChanged(s.catalog.TableByID(c.TableId).DatabaseId, 0)
	return nil
}

// renameDatabase gives a database another name.
func (s *State) renameDatabase(c *raftlogv1.RenameDatabase) error {
	if err := s.catalog.RenameDatabase(c.GetDatabaseId(), c.GetName()); err != nil {
		return err
	}
	s.jobs.DatabaseRenamed(c.DatabaseId, c.Name)
	return nil
}

// alterTable gives a table its next schema version.
func (s *State) alterTable(c *raftlogv1.AlterTable) error {
	if err := s.catalog.AlterTable(c); err != nil {
		return err
	}
	s.tableChanged(s.catalog.TableByID(c.TableId).DatabaseId, c.TableId)
	return nil
}

// tableChanged ends the placements of the multi-table jobs of a database, whose
// tasks were given all its tables, and of the jobs that load into the table
// with that id, 0 for none.
func (s *State) tableChanged(databaseID, tableID uint64) {
	s.jobs.Fence(func(job *raftlogv1.Job) bool {
		if job.Load.MultiTable {
			return job.DatabaseId == databaseID
		}
		return job.TableId == tableID
	}, s.cluster.NextID)
}
