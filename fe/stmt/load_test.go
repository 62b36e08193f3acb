package stmt_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
	"shoal/internal/errorrows"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/duckdb"
	"shoal/sql/types"
)

// load commits the rows of a query, in DuckDB's SQL, as a rowset of a table, as
// a task of a job of the table's name would.
func (s *script) load(t *testing.T, sess *session.Session, table, query string) string {
	job, schema := s.runningJob(t, sess, table)
	path := fmt.Sprintf("%d.parquet", s.store.index)
	rows := s.writeParquet(t, path, query, schema)
	s.commit(t, job, &frontendv1.CommitTxnRequest{
		Rowset:        &typesv1.Rowset{Path: path, Rows: rows, Bytes: 100, SchemaVersion: schema.Version},
		SchemaVersion: schema.Version,
		Counters:      &typesv1.Counters{TotalRows: rows, LoadedRows: rows},
	}, rows)
	return fmt.Sprintf("%d rows\n", rows)
}

// loadErrors does the same for error rows.
func (s *script) loadErrors(t *testing.T, sess *session.Session, query string) string {
	var table string
	s.store.View(func(st *state.State) {
		db := st.Database(sess.DB)
		table = st.Tables(db.Id)[0].Name
	})
	job, schema := s.runningJob(t, sess, table)
	path := fmt.Sprintf("%d.errors.parquet", s.store.index)
	rows := s.writeParquet(t, path, query, errorrows.Schema())
	s.commit(t, job, &frontendv1.CommitTxnRequest{
		ErrorRowset:   &typesv1.Rowset{Path: path, Rows: rows, Bytes: 100, SchemaVersion: 1},
		SchemaVersion: schema.Version,
		Counters:      &typesv1.Counters{TotalRows: rows, ErrorRows: rows},
	}, rows)
	return fmt.Sprintf("%d rows\n", rows)
}

// runningJob is the job that loads a table, made at the first call, and the
// table's schema.
func (s *script) runningJob(t *testing.T, sess *session.Session, name string) (*raftlogv1.Job, *typesv1.Schema) {
	var table *raftlogv1.Table
	var job *raftlogv1.Job
	s.store.View(func(st *state.State) {
		table = st.Table(st.Database(sess.DB).Id, name)
		job = st.JobByName(table.DatabaseId, name)
	})
	if job != nil {
		return job, catalog.Newest(table)
	}
	backend := s.store.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_RegisterBackend{RegisterBackend: &raftlogv1.RegisterBackend{
		Backend: &raftlogv1.Backend{NodeUuid: "be1", Host: "127.0.0.1", RpcPort: 9060, Slots: 16}}}}).ID
	id := s.store.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{
		GroupPrefix: "shoal-c1-",
		Job: &raftlogv1.Job{DatabaseId: table.DatabaseId, TableId: table.Id, Name: name, User: "root", Load: &typesv1.RoutineLoad{
			Mode: typesv1.RoutineLoad_MODE_SHARE_GROUP, Topic: "topic", MaxErrorNumber: 1000, MaxFilterRatio: 1, MaxBatchRows: 200_000}}}}}).ID
	s.store.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: &raftlogv1.StartRoutineLoad{
		JobId: id, LockDurationMs: 30_000, Starts: []*raftlogv1.LedgerStart{{TopicId: topic}}}}})
	s.store.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{
		JobId: id, Assignments: []*raftlogv1.TaskAssignment{{BackendId: backend, MemberId: "m"}}}}})
	s.store.View(func(st *state.State) { job = st.JobByID(id) })
	return job, catalog.Newest(table)
}

var topic = []byte("0123456789abcdef")

// commit commits a txn for the job's task: the offsets that follow those of
// the txn before.
func (s *script) commit(t *testing.T, job *raftlogv1.Job, req *frontendv1.CommitTxnRequest, records int64) {
	task := job.Tasks[0]
	s.number++
	req.JobId, req.TaskId, req.Epoch, req.Number = job.Id, task.Id, task.Epoch, s.number
	req.TableId, req.Generation = job.TableId, 1
	req.Label = fmt.Sprintf("label_%d", s.number)
	digest := sha256.Sum256([]byte(req.Label))
	req.Digest = digest[:]
	req.Partitions = []*typesv1.PartitionOffsets{{TopicId: topic, Loaded: []*typesv1.EpochRange{{First: s.offset, Last: s.offset + records - 1, LeaderEpoch: 1}}}}
	s.offset += records
	applied := s.store.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_CommitTxns{CommitTxns: &raftlogv1.CommitTxns{Txns: []*frontendv1.CommitTxnRequest{req}}}})
	if outcome := applied.Txns[0].Outcome; outcome != frontendv1.Outcome_OUTCOME_COMMITTED {
		t.Fatalf("the txn was answered by %v", applied.Txns[0])
	}
}

// writeParquet writes a file as a backend would and returns its rows.
func (s *script) writeParquet(t *testing.T, path, query string, schema *typesv1.Schema) int64 {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var casts, ids []string
	for i, c := range schema.Columns {
		typ, err := types.Parse(c.Type)
		if err != nil {
			t.Fatal(err)
		}
		casts = append(casts, fmt.Sprintf("CAST(c%d AS %s) AS %s", i+1, typ.DuckDB(), duckdb.QuoteName(c.Name)))
		ids = append(ids, fmt.Sprintf("%s: %d", duckdb.QuoteName(c.Name), c.FieldId))
	}
	names := make([]string, len(schema.Columns))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i+1)
	}
	res, err := db.Exec(fmt.Sprintf("COPY (SELECT %s FROM (%s) AS q(%s)) TO '%s' (FORMAT parquet, FIELD_IDS {%s})",
		strings.Join(casts, ", "), query, strings.Join(names, ", "), filepath.Join(s.backend.dir, path), strings.Join(ids, ", ")))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := res.RowsAffected()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
