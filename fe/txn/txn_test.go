package txn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"shoal/fe/state"
	"shoal/fe/txn"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request is a good one, with 10 rows of which 2 are in error.
func request(number uint64) *frontendv1.CommitTxnRequest {
	return &frontendv1.CommitTxnRequest{
		JobId: 1, TaskId: 2, Epoch: 3, Number: number, Digest: make([]byte, 32), Label: "1_2_3", TableId: 4, SchemaVersion: 5, Generation: 1,
		Rowset:      &typesv1.Rowset{Path: fmt.Sprintf("4/1-1-2-3-%d.parquet", number), Rows: 8, Bytes: 80, SchemaVersion: 5},
		ErrorRowset: &typesv1.Rowset{Path: fmt.Sprintf("4/1-1-2-3-%d-errors.parquet", number), Rows: 2, Bytes: 20},
		Partitions:  []*typesv1.PartitionOffsets{{TopicId: []byte("0123456789abcdef"), Loaded: []*typesv1.EpochRange{{First: 0, Last: 9}}}},
		Counters:    &typesv1.Counters{TotalRows: 10, LoadedRows: 8, ErrorRows: 2},
	}
}

// multiTable is a good one with the same rows in two tables.
func multiTable(number uint64) *frontendv1.CommitTxnRequest {
	r := request(number)
	r.TableId, r.SchemaVersion, r.Rowset = 0, 0, nil
	r.ErrorRowset.Path = fmt.Sprintf("0/1-1-2-3-%d-errors.parquet", number)
	r.Tables = []*frontendv1.TableRows{
		{TableId: 4, SchemaVersion: 5, Rowset: &typesv1.Rowset{Path: fmt.Sprintf("4/1-1-2-3-%d.parquet", number), Rows: 3, Bytes: 30, SchemaVersion: 5}},
		{TableId: 6, SchemaVersion: 1, Rowset: &typesv1.Rowset{Path: fmt.Sprintf("6/1-1-2-3-%d.parquet", number), Rows: 5, Bytes: 50, SchemaVersion: 1}},
	}
	return r
}

func TestValidate(t *testing.T) {
	if err := txn.Validate(request(1)); err != nil {
		t.Fatalf("Validate of a good request = %v", err)
	}
	fewer := request(1) // a message may have several rows, or none
	fewer.Partitions[0].Loaded[0].Last = 4
	fewer.Counters.EmptyMessages = 2
	voids := &frontendv1.CommitTxnRequest{
		JobId: 1, TaskId: 2, Epoch: 3, Number: 1, Digest: make([]byte, 32), Label: "1_2_3", TableId: 4, SchemaVersion: 5, Generation: 1,
		Partitions: []*typesv1.PartitionOffsets{{TopicId: []byte("0123456789abcdef"), Void: []*typesv1.OffsetRange{{First: 0, Last: 9}}}},
	}
	voidsOfMany := &frontendv1.CommitTxnRequest{
		JobId: 1, TaskId: 2, Epoch: 3, Number: 1, Digest: make([]byte, 32), Label: "1_2_3", Generation: 1,
		Partitions: []*typesv1.PartitionOffsets{{TopicId: []byte("0123456789abcdef"), Void: []*typesv1.OffsetRange{{First: 0, Last: 9}}}},
	}
	for name, good := range map[string]*frontendv1.CommitTxnRequest{
		"several rows a message": fewer, "voids alone": voids, "several tables": multiTable(1), "voids alone of a multi-table job": voidsOfMany,
	} {
		if err := txn.Validate(good); err != nil {
			t.Errorf("%s: Validate = %v", name, err)
		}
	}
	for name, spoil := range map[string]func(*frontendv1.CommitTxnRequest){
		"no job":    func(r *frontendv1.CommitTxnRequest) { r.JobId = 0 },
		"no epoch":  func(r *frontendv1.CommitTxnRequest) { r.Epoch = 0 },
		"no number": func(r *frontendv1.CommitTxnRequest) { r.Number = 0 },
		"no digest": func(r *frontendv1.CommitTxnRequest) { r.Digest = nil },
		"too large": func(r *frontendv1.CommitTxnRequest) {
			r.Samples = []*frontendv1.ErrorSample{{Raw: strings.Repeat("x", 9<<20)}}
		},
		"no label":            func(r *frontendv1.CommitTxnRequest) { r.Label = "" },
		"negative counter":    func(r *frontendv1.CommitTxnRequest) { r.Counters.ReceivedBytes = -1 },
		"wrong sum":           func(r *frontendv1.CommitTxnRequest) { r.Counters.TotalRows = 11 },
		"rows without a file": func(r *frontendv1.CommitTxnRequest) { r.Rowset = nil },
		"errors without file": func(r *frontendv1.CommitTxnRequest) { r.ErrorRowset = nil },
		"file without rows": func(r *frontendv1.CommitTxnRequest) {
			r.Rowset.Rows, r.Counters.LoadedRows, r.Counters.TotalRows = 0, 0, 2
		},
		"records without rows":         func(r *frontendv1.CommitTxnRequest) { r.Partitions[0].Loaded[0].Last = 10 },
		"more empty than all messages": func(r *frontendv1.CommitTxnRequest) { r.Counters.EmptyMessages = 11 },
		"rows of empty messages":       func(r *frontendv1.CommitTxnRequest) { r.Counters.EmptyMessages = 10 },
		"rows of no records": func(r *frontendv1.CommitTxnRequest) {
			r.Partitions[0].Loaded, r.Partitions[0].Void = nil, []*typesv1.OffsetRange{{First: 0, Last: 9}}
		},
		"no table":             func(r *frontendv1.CommitTxnRequest) { r.TableId = 0 },
		"one file for both":    func(r *frontendv1.CommitTxnRequest) { r.ErrorRowset.Path = r.Rowset.Path },
		"of another table":     func(r *frontendv1.CommitTxnRequest) { r.Rowset.Path = "5/1-1-2-3-1.parquet" },
		"of another job":       func(r *frontendv1.CommitTxnRequest) { r.Rowset.Path = "4/1-9-2-3-1.parquet" },
		"of another task":      func(r *frontendv1.CommitTxnRequest) { r.Rowset.Path = "4/1-1-9-3-1.parquet" },
		"of another epoch":     func(r *frontendv1.CommitTxnRequest) { r.Rowset.Path = "4/1-1-2-2-1.parquet" },
		"of another number":    func(r *frontendv1.CommitTxnRequest) { r.Rowset.Path = "4/1-1-2-3-2.parquet" },
		"errors of another":    func(r *frontendv1.CommitTxnRequest) { r.ErrorRowset.Path = "4/1-1-2-3-2-errors.parquet" },
		"path too deep":        func(r *frontendv1.CommitTxnRequest) { r.Rowset.Path = "4/1/1-1-2-3-1.parquet" },
		"no parquet":           func(r *frontendv1.CommitTxnRequest) { r.Rowset.Path = "4/1-1-2-3-1" },
		"absolute path":        func(r *frontendv1.CommitTxnRequest) { r.Rowset.Path = "/etc/passwd" },
		"path out of it":       func(r *frontendv1.CommitTxnRequest) { r.Rowset.Path = "../x" },
		"path with a detour":   func(r *frontendv1.CommitTxnRequest) { r.ErrorRowset.Path = "a/../b" },
		"other schema version": func(r *frontendv1.CommitTxnRequest) { r.Rowset.SchemaVersion = 6 },
		"no partitions":        func(r *frontendv1.CommitTxnRequest) { r.Partitions = nil },
		"partition twice":      func(r *frontendv1.CommitTxnRequest) { r.Partitions = append(r.Partitions, r.Partitions[0]) },
		"reversed range":       func(r *frontendv1.CommitTxnRequest) { r.Partitions[0].Loaded[0].Last = -1 },
	} {
		r := request(1)
		spoil(r)
		if err := txn.Validate(r); !errors.Is(err, txn.ErrMalformed) {
			t.Errorf("%s: Validate = %v, want ErrMalformed", name, err)
		}
	}
	for name, spoil := range map[string]func(*frontendv1.CommitTxnRequest){
		"table twice":          func(r *frontendv1.CommitTxnRequest) { r.Tables[1].TableId = 4 },
		"file twice":           func(r *frontendv1.CommitTxnRequest) { r.Tables[1].Rowset.Path = r.Tables[0].Rowset.Path },
		"rows beside tables":   func(r *frontendv1.CommitTxnRequest) { r.Rowset = request(1).Rowset },
		"one table and a list": func(r *frontendv1.CommitTxnRequest) { r.TableId, r.SchemaVersion = 4, 5 },
		"table without rows":   func(r *frontendv1.CommitTxnRequest) { r.Tables[1].Rowset = nil },
		"other version":        func(r *frontendv1.CommitTxnRequest) { r.Tables[1].Rowset.SchemaVersion = 6 },
		"no table":             func(r *frontendv1.CommitTxnRequest) { r.Tables[0] = nil },
		"sum of the tables":    func(r *frontendv1.CommitTxnRequest) { r.Tables[0].Rowset.Rows++ },
	} {
		r := multiTable(1)
		spoil(r)
		if err := txn.Validate(r); !errors.Is(err, txn.ErrMalformed) {
			t.Errorf("%s: Validate = %v, want ErrMalformed", name, err)
		}
	}
	if err := txn.Validate(nil); !errors.Is(err, txn.ErrMalformed) {
		t.Errorf("Validate(nil) = %v, want ErrMalformed", err)
	}
}

// A log is a Proposer that answers each txn with its number as id, when it is
// let to.
type log struct {
	let chan struct{}
	err error

	mu      sync.Mutex
	batches []int
}

func (l *log) Propose(ctx context.Context, cmd *raftlogv1.Command) (state.Result, error) {
	txns := cmd.GetCommitTxns().Txns
	l.mu.Lock()
	l.batches = append(l.batches, len(txns))
	l.mu.Unlock()
	select {
	case <-l.let:
	case <-ctx.Done():
		return state.Result{}, ctx.Err()
	}
	var r state.Result
	for _, req := range txns {
		r.Txns = append(r.Txns, &frontendv1.CommitTxnResponse{TxnId: req.Number})
	}
	return r, l.err
}

// TestGroupsFormWhileEntriesAreUnderWay: the first four requests are entries
// of their own, and all that come meanwhile become one.
func TestGroupsFormWhileEntriesAreUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{let: make(chan struct{})}
		c := txn.New(l)
		ctx, cancel := context.WithCancel(t.Context())
		run := make(chan error, 1)
		go func() { run <- c.Run(ctx) }()
		var callers sync.WaitGroup
		for n := range uint64(24) {
			callers.Go(func() {
				resp, err := c.Commit(ctx, request(n+1))
				if err != nil || resp.TxnId != n+1 {
					t.Errorf("txn %d was answered %v, %v", n+1, resp, err)
				}
			})
			synctest.Wait()
		}
		close(l.let)
		callers.Wait()
		if got := fmt.Sprint(l.batches); got != "[1 1 1 1 20]" {
			t.Errorf("entries had %v txns, want [1 1 1 1 20]", got)
		}
		cancel()
		if err := <-run; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v, want its context's error", err)
		}
		if _, err := c.Commit(t.Context(), request(1)); !errors.Is(err, txn.ErrStopped) {
			t.Errorf("Commit after Run = %v, want ErrStopped", err)
		}
	})
}

func TestErrorsReachEveryCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		elsewhere := errors.New("another frontend leads")
		l := &log{let: make(chan struct{}), err: elsewhere}
		c := txn.New(l)
		ctx, cancel := context.WithCancel(t.Context())
		run := make(chan error, 1)
		go func() { run <- c.Run(ctx) }()
		impatient, giveUp := context.WithCancel(t.Context())
		errs := make(chan error, 1)
		go func() {
			_, err := c.Commit(impatient, request(1))
			errs <- err
		}()
		synctest.Wait()
		giveUp()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("Commit of a caller that gave up = %v", err)
		}
		close(l.let)
		if _, err := c.Commit(t.Context(), request(2)); !errors.Is(err, elsewhere) {
			t.Errorf("Commit = %v, want the log's error", err)
		}
		if _, err := c.Commit(t.Context(), &frontendv1.CommitTxnRequest{}); !errors.Is(err, txn.ErrMalformed) {
			t.Errorf("Commit of nothing = %v, want ErrMalformed", err)
		}
		cancel()
		<-run
	})
}
