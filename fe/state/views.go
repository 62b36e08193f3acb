package state

import (
	"shoal/fe/state/ledger"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// ClusterInfo is the cluster's id, warehouse and incarnation; nil before
// Bootstrap.
func (s *State) ClusterInfo() *raftlogv1.Cluster { return s.cluster.Info() }

// Frontends are the members, ordered by id.
func (s *State) Frontends() []*raftlogv1.Frontend { return s.cluster.Frontends() }

// AddedFrontends are those that were added and have not joined yet.
func (s *State) AddedFrontends() []*raftlogv1.Frontend { return s.cluster.AddedFrontends() }

// FrontendDropped tells whether the frontend with this id is refused.
func (s *State) FrontendDropped(id string) bool { return s.cluster.FrontendDropped(id) }

// Backends are ordered by id, dropped ones included.
func (s *State) Backends() []*raftlogv1.Backend { return s.cluster.Backends() }

// Database is the database of that name, nil if there is none. Names are
// case-sensitive.
func (s *State) Database(name string) *raftlogv1.Database { return s.catalog.Database(name) }

// DatabaseByID is the database of that id, nil if there is none.
func (s *State) DatabaseByID(id uint64) *raftlogv1.Database { return s.catalog.DatabaseByID(id) }

// Databases are ordered by name.
func (s *State) Databases() []*raftlogv1.Database { return s.catalog.Databases() }

// Table is the table of that name in a database, nil if there is none. Names
// are case-sensitive.
func (s *State) Table(databaseID uint64, name string) *raftlogv1.Table {
	return s.catalog.Table(databaseID, name)
}

// TableByID is the table of that id, nil if there is none.
func (s *State) TableByID(id uint64) *raftlogv1.Table { return s.catalog.TableByID(id) }

// Tables of a database, ordered by name.
func (s *State) Tables(databaseID uint64) []*raftlogv1.Table { return s.catalog.Tables(databaseID) }

// Rowsets is a table's current version, in the order in which the rowsets
// became visible; Table.Version is its number.
func (s *State) Rowsets(tableID uint64) []*raftlogv1.TableRowset { return s.catalog.Rowsets(tableID) }

// File is the file of that catalog and name in a database, nil if there is
// none.
func (s *State) File(databaseID uint64, catalog, name string) *raftlogv1.File {
	return s.catalog.File(databaseID, catalog, name)
}

// Files of a database, ordered by id.
func (s *State) Files(databaseID uint64) []*raftlogv1.File { return s.catalog.Files(databaseID) }

// Jobs are ordered by id, ended ones included.
func (s *State) Jobs() []*raftlogv1.Job { return s.jobs.All() }

// JobByID is the job of that id, nil if there is none.
func (s *State) JobByID(id uint64) *raftlogv1.Job { return s.jobs.ByID(id) }

// JobByName is the job of that name in a database that has not ended, nil if
// there is none.
func (s *State) JobByName(databaseID uint64, name string) *raftlogv1.Job {
	return s.jobs.ByName(databaseID, name)
}

// JobsByName is every job of that name in a database, ended ones included, the
// oldest first.
func (s *State) JobsByName(databaseID uint64, name string) []*raftlogv1.Job {
	return s.jobs.AllByName(databaseID, name)
}

// ErrorRowsets of a job, in the order in which they were committed.
func (s *State) ErrorRowsets(jobID uint64) []*raftlogv1.ErrorRowset {
	return s.jobs.ErrorRowsets(jobID)
}

// Trash is files that no version needs from this one on, ordered by the log
// index that let them go. There may be more of them in the warehouse.
func (s *State) Trash() []*raftlogv1.TrashFile { return s.trash.Files() }

// LastID is the highest id, or task epoch, that was given so far.
func (s *State) LastID() uint64 { return s.cluster.LastID() }

// Ledgers of a job, ordered by topic id and partition.
func (s *State) Ledgers(jobID uint64) []ledger.View { return s.ledgers.Views(jobID) }
