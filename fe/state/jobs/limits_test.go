package jobs_test

import (
	"testing"

	frontendv1 "shoal/proto/frontend/v1"
	typesv1 "shoal/proto/types/v1"
)

// TestLimits feeds one txn after another to a job with max_error_number 5,
// max_filter_ratio 0.01 and a window of a million rows.
func TestLimits(t *testing.T) {
	type txn struct {
		rows, errors int64
		over         string
	}
	for _, tt := range []struct {
		name string
		txns []txn
	}{
		{"up to the number", []txn{{100, 2, ""}, {100, 3, ""}}},
		{"over the number", []txn{{100, 5, ""}, {100, 1, "6 error rows in the window are more than max_error_number 5; partition 3, offset 4: bad: {,"}}},
		{"over at once", []txn{{100, 6, "6 error rows in the window are more than max_error_number 5; partition 3, offset 4: bad: {,"}}},
		{"ratio of few rows is not judged", []txn{{5, 5, ""}}},
		{"the window tumbles", []txn{{1_000_000, 5, ""}, {1, 0, ""}, {100, 5, ""}}},
		{"the window does not tumble when just full", []txn{{1_000_000, 5, ""}, {100, 1,
			"6 error rows in the window are more than max_error_number 5; partition 3, offset 4: bad: {,"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture()
			id := f.create(t, "j", 1)
			for i, x := range tt.txns {
				req := request(f, id, uint64(i+1), x.rows, x.errors)
				if got := f.OverLimits(req); got != x.over {
					t.Fatalf("txn %d: OverLimits = %q, want %q", i, got, x.over)
				}
				if x.over == "" {
					f.Committed(req, &frontendv1.CommitTxnResponse{}, uint64(i))
				}
			}
		})
	}
}

func TestFilterRatio(t *testing.T) {
	f := newFixture()
	def := definition("j")
	def.Load.MaxErrorNumber = 1000
	id, err := f.Create(def, "p", 1, f.nextID)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		rows, errors int64
		over         string
	}{
		{9_999, 500, ""},
		{10_000, 100, ""},
		{10_000, 101, "101 error rows of 10000 in the window are more than max_filter_ratio 0.01; partition 3, offset 4: bad: {,"},
	} {
		if got := f.OverLimits(request(f, id, 1, tt.rows, tt.errors)); got != tt.over {
			t.Errorf("OverLimits of %d in %d = %q, want %q", tt.errors, tt.rows, got, tt.over)
		}
	}
}

func request(f *fixture, jobID, number uint64, rows, errors int64) *frontendv1.CommitTxnRequest {
	req := &frontendv1.CommitTxnRequest{JobId: jobID, Number: number,
		Counters: &typesv1.Counters{TotalRows: rows, ErrorRows: errors, LoadedRows: rows - errors},
		Samples:  []*frontendv1.ErrorSample{{Partition: 3, Offset: 4, Reason: "bad", Raw: "{,"}}}
	if tasks := f.ByID(jobID).Tasks; len(tasks) > 0 {
		req.TaskId, req.Epoch = tasks[0].Id, tasks[0].Epoch
	}
	return req
}
