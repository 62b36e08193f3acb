package state_test

import (
	"strings"
	"testing"

	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// multiTable is a cluster whose job loads into all tables of the database: t,
// and u, which it has as well.
func multiTable(t *testing.T) (c *cluster, u uint64) {
	c = newCluster(t)
	u = c.do(createTable(c.database, "u")).ID
	c.job = c.do(multiTableJob(c.database, "all")).ID
	c.do(startJob(c.job, 0, 1))
	c.schedule(2)
	return c, u
}

// spread is a txn of task i with the offsets of a range, half of whose rows are
// for table t and half for u.
func spread(c *cluster, i int, number uint64, u uint64, first, last int64) *frontendv1.CommitTxnRequest {
	req := c.txn(i, number, [2]int64{first, last})
	half := req.Rowset.Rows / 2
	req.TableId, req.SchemaVersion, req.Rowset = 0, 0, nil
	for _, table := range []uint64{c.table, u} {
		req.Tables = append(req.Tables, &frontendv1.TableRows{TableId: table, SchemaVersion: 1,
			Rowset: &typesv1.Rowset{Path: req.Label, Rows: half, Bytes: half, SchemaVersion: 1}})
	}
	return req
}

func TestMultiTableTxnIsVisibleAsAWhole(t *testing.T) {
	c, u := multiTable(t)
	a := c.commit(withErrorFile(spread(c, 0, 1, u, 0, 9), 2))
	if a.Outcome != committed {
		t.Fatalf("answer = %v", a)
	}
	for _, table := range []uint64{c.table, u} {
		if r := c.Rowsets(table); len(r) != 1 || r[0].TxnId != c.index || r[0].Rowset.Rows != 5 || len(r[0].Partitions) != 1 {
			t.Errorf("table %d has rowsets %v", table, r)
		}
	}
	job := c.JobByID(c.job)
	if job.Counters.TotalRows != 12 || job.Counters.ErrorRows != 2 || job.CommittedTxns != 1 || len(c.ErrorRowsets(c.job)) != 1 {
		t.Errorf("job = %v", job)
	}
	if l := c.Ledgers(c.job)[0]; l.Settled != 10 || l.Loaded != 10 {
		t.Errorf("ledger = %+v", l)
	}
	nothing := c.void(1, 1, [2]int64{10, 10})
	nothing.TableId, nothing.SchemaVersion = 0, 0
	if a := c.commit(nothing); a.Outcome != committed {
		t.Errorf("a txn without rows: %v", a)
	}
}

// withErrorFile adds n error rows to a txn.
func withErrorFile(req *frontendv1.CommitTxnRequest, n int64) *frontendv1.CommitTxnRequest {
	req.Counters.ErrorRows, req.Counters.TotalRows = n, req.Counters.TotalRows+n
	req.ErrorRowset = &typesv1.Rowset{Path: "errors/" + req.Label, Rows: n, Bytes: n, SchemaVersion: 1}
	return req
}

// TestMultiTableTxnAllOrNothing: one table that does not take its rows keeps
// those of the others out.
func TestMultiTableTxnAllOrNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil  func(c *cluster, req *frontendv1.CommitTxnRequest)
		reason string
	}{
		"old schema": {func(_ *cluster, req *frontendv1.CommitTxnRequest) { req.Tables[1].SchemaVersion = 2 }, "schema has changed"},
		"no table":   {func(_ *cluster, req *frontendv1.CommitTxnRequest) { req.Tables[1].TableId = 9999 }, "was dropped"},
		"another database's": {func(c *cluster, req *frontendv1.CommitTxnRequest) {
			db := c.do(createDatabase("other")).ID
			req.Tables[1].TableId = c.do(createTable(db, "x")).ID
		}, "was dropped"},
		"one table only": {func(c *cluster, req *frontendv1.CommitTxnRequest) {
			req.TableId, req.SchemaVersion, req.Rowset, req.Tables = c.table, 1, req.Tables[0].Rowset, nil
		}, "loads into table 0"},
	} {
		c, u := multiTable(t)
		req := spread(c, 0, 1, u, 0, 9)
		tt.spoil(c, req)
		a := c.commit(req)
		if a.Outcome != aborted || !strings.Contains(a.Reason, tt.reason) {
			t.Errorf("%s: %v, want ABORTED with %q", name, a, tt.reason)
		}
		if len(c.Rowsets(c.table))+len(c.Rowsets(u)) > 0 || c.Ledgers(c.job)[0].Settled != 0 {
			t.Errorf("%s: the txn left something behind", name)
		}
	}
	c := newCluster(t)
	req := c.txn(0, 1, [2]int64{0, 9})
	req.Tables = []*frontendv1.TableRows{{TableId: c.table, SchemaVersion: 1, Rowset: req.Rowset}}
	if a := c.commit(req); a.Outcome != aborted {
		t.Errorf("a list of tables for a job with one: %v", a)
	}
}

// TestChangedTablesEndPlacements: tasks that were given the tables as they were
// before are fenced by the very entry that changes them, and take nothing with
// them; the others go on.
func TestChangedTablesEndPlacements(t *testing.T) {
	rename := func(table uint64) *raftlogv1.Command {
		return &raftlogv1.Command{Body: &raftlogv1.Command_RenameTable{RenameTable: &raftlogv1.RenameTable{TableId: table, Name: "renamed"}}}
	}
	drop := func(table uint64) *raftlogv1.Command {
		return &raftlogv1.Command{Body: &raftlogv1.Command_DropTable{DropTable: &raftlogv1.DropTable{TableId: table}}}
	}
	add := func(table uint64) *raftlogv1.Command { return alterTable(table, 1, column(1, "id"), column(0, "b")) }
	for _, tt := range []struct {
		name       string
		change     func(c *cluster, u uint64) *raftlogv1.Command
		one, multi bool // fenced: the job on t, the multi-table job
	}{
		{"ALTER TABLE t", func(c *cluster, _ uint64) *raftlogv1.Command { return add(c.table) }, true, true},
		{"ALTER TABLE u", func(_ *cluster, u uint64) *raftlogv1.Command { return add(u) }, false, true},
		{"RENAME t", func(c *cluster, _ uint64) *raftlogv1.Command { return rename(c.table) }, false, true},
		{"CREATE TABLE", func(c *cluster, _ uint64) *raftlogv1.Command { return createTable(c.database, "new") }, false, true},
		{"DROP TABLE u", func(_ *cluster, u uint64) *raftlogv1.Command { return drop(u) }, false, true},
		{"CREATE DATABASE", func(*cluster, uint64) *raftlogv1.Command { return createDatabase("new") }, false, false},
	} {
		c, u := multiTable(t)
		one := c.JobByName(c.database, "j")
		multi := c.JobByName(c.database, "all")
		c.do(tt.change(c, u))
		for _, job := range []struct {
			before *raftlogv1.Job
			fenced bool
		}{{one, tt.one}, {multi, tt.multi}} {
			now := c.JobByID(job.before.Id)
			for i, task := range now.Tasks {
				before := job.before.Tasks[i]
				if raised := task.Epoch > before.Epoch && task.BackendId == 0; raised != job.fenced || !raised && task != before {
					t.Errorf("%s: task of job %s went from %v to %v, fenced should be %v", tt.name, now.Name, before, task, job.fenced)
				}
			}
		}
		if a := c.commit(spread(c, 0, 1, u, 0, 9)); tt.multi && a.Outcome != fenced || len(c.Rowsets(u)) > 0 && tt.multi {
			t.Errorf("%s: a commit of before: %v", tt.name, a)
		}
	}
}

// TestRowsOfTheNewSchema: after ALTER TABLE the records come again at a new
// epoch, and only rows of the new schema are taken.
func TestRowsOfTheNewSchema(t *testing.T) {
	c := newCluster(t)
	c.commit(c.txn(0, 1, [2]int64{0, 9}))
	c.do(alterTable(c.table, 1, column(1, "id"), column(0, "b")))
	if a := c.commit(c.txn(0, 1, [2]int64{0, 9})); a.Outcome != committed {
		t.Errorf("a lost answer of before: %v", a)
	}
	if a := c.commit(c.txn(0, 2, [2]int64{10, 19})); a.Outcome != fenced {
		t.Errorf("a commit of before: %v", a)
	}
	c.schedule(1)
	req := c.txn(2, 1, [2]int64{10, 19})
	if a := c.commit(req); a.Outcome != aborted || !strings.Contains(a.Reason, "schema version 2, the rows are of version 1") {
		t.Errorf("rows of the old schema at a new epoch: %v", a)
	}
	req = c.txn(2, 2, [2]int64{10, 19})
	req.SchemaVersion, req.Rowset.SchemaVersion = 2, 2
	if a := c.commit(req); a.Outcome != committed {
		t.Errorf("rows of the new schema: %v", a)
	}
	if n := len(c.Rowsets(c.table)); n != 2 {
		t.Errorf("%d rowsets, want those of both schemas", n)
	}
}

// TestJobsFollowNames: the names that a job keeps are those of now.
func TestJobsFollowNames(t *testing.T) {
	c := newCluster(t)
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_RenameTable{RenameTable: &raftlogv1.RenameTable{TableId: c.table, Name: "t2"}}})
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_RenameDatabase{RenameDatabase: &raftlogv1.RenameDatabase{DatabaseId: c.database, Name: "db2"}}})
	if job := c.JobByName(c.database, "j"); job.TableName != "t2" || job.DatabaseName != "db2" {
		t.Errorf("job = %v", job)
	}
	if a := c.commit(c.txn(0, 1, [2]int64{0, 9})); a.Outcome != committed {
		t.Errorf("a job goes on after renames: %v", a)
	}
}
