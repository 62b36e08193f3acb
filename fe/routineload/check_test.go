package routineload

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// ReadFooters finds no file.
func (n *node) ReadFooters(req *backendv1.ReadFootersRequest, stream grpc.ServerStreamingServer[backendv1.ReadFootersResponse]) error {
	for _, path := range req.Paths {
		if err := stream.Send(&backendv1.ReadFootersResponse{Path: path, Error: "there is no such file"}); err != nil {
			return err
		}
	}
	return nil
}

// TestCheckLedger looks at what the statement answers: a row for each partition
// and one for the job, with a cell for each column.
func TestCheckLedger(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.produce(1, 5)
		if err := b.create("j", ""); err != nil {
			t.Fatal(err)
		}
		if _, err := b.sql("ADMIN CHECK ROUTINE LOAD LEDGER FOR nothing"); err == nil || !strings.Contains(err.Error(), "There is no job named nothing in db d") {
			t.Errorf("check of no job: %v", err)
		}
		b.lead()
		time.Sleep(5*time.Second + planEvery/2)
		check := func(want ...string) {
			t.Helper()
			table := b.must("ADMIN CHECK ROUTINE LOAD LEDGER FOR d.j")
			if len(table.Rows) != 4 {
				t.Fatalf("%d rows", len(table.Rows))
			}
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) {
					t.Fatalf("%d cells for %d columns", len(row), len(table.Columns))
				}
			}
			for i, row := range []int{1, 3} {
				var got []string
				for _, column := range []string{"Partition", "Start", "Settled", "LogEnd", "Loaded", "InFiles", "Rowless", "Missing", "Txns", "Files", "Rows", "Verdict"} {
					got = append(got, at(table, row, column))
				}
				if text := strings.Join(got, " "); text != want[i] {
					t.Errorf("row %d: %s, want %s", row, text, want[i])
				}
			}
		}
		check("1 0 0 5 0 0 0 0 0 NULL NULL OK", "all NULL NULL NULL 0 0 0 0 NULL 0 0 OK")

		job := b.job()
		commit := func(number uint64, rowset *typesv1.Rowset, first, last, rows int64) {
			t.Helper()
			task := job.Tasks[0]
			answer := b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CommitTxns{CommitTxns: &raftlogv1.CommitTxns{Txns: []*frontendv1.CommitTxnRequest{{
				JobId: job.Id, TaskId: task.Id, Epoch: task.Epoch, Number: number, Digest: []byte{1}, Label: "l", TableId: job.TableId, SchemaVersion: 1,
				Generation: job.Generation, Rowset: rowset, Counters: &typesv1.Counters{TotalRows: rows, LoadedRows: rows},
				Partitions: []*typesv1.PartitionOffsets{{TopicId: job.Starts[1].TopicId, Partition: 1, Loaded: []*typesv1.EpochRange{{First: first, Last: last}}}}}}}}}).Txns[0]
			if answer.Outcome != frontendv1.Outcome_OUTCOME_COMMITTED {
				t.Fatal(answer)
			}
		}
		commit(1, nil, 0, 1, 0) // all of it filtered
		check("1 0 2 5 2 0 2 0 0 NULL NULL OK", "all NULL NULL NULL 2 0 2 0 NULL 0 0 OK")
		commit(2, &typesv1.Rowset{Path: "7/x.parquet", Rows: 3}, 2, 4, 3)
		check("1 0 5 5 5 0 2 3 0 NULL NULL MISSING", "all NULL NULL NULL 5 0 2 3 NULL 1 0 DIFFERS")
		table := b.must("ADMIN CHECK ROUTINE LOAD LEDGER FOR j")
		if got := at(table, 3, "FirstDifferences"); !strings.Contains(got, "file 7/x.parquet (label l) of partition 1 offsets 2-4 cannot be read: there is no such file") {
			t.Errorf("FirstDifferences = %s", got)
		}
		b.cancel()
		b.duties.Wait()
		if _, err := b.sql("ADMIN CHECK ROUTINE LOAD LEDGER FOR j"); err == nil || !strings.Contains(err.Error(), "no backend is alive") {
			t.Errorf("check without a backend: %v", err)
		}
	})
}
