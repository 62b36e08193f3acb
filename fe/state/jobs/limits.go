package jobs

import (
	"fmt"

	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// MinRatioRows is how many rows the window must have before max_filter_ratio
// is judged. Doris judges it on whatever there is, so that one bad row among
// the first ten pauses a job that allows five in a hundred; a share-group task
// commits far smaller batches than Doris's, which would make that the rule.
const MinRatioRows = 10_000

// windowBatches is how many times max_batch_rows the window of the limits
// holds (Doris, hard-coded there too).
const windowBatches = 10

// A reason quotes a few of the bad messages, and the start of each.
const (
	reasonSamples = 3
	reasonRaw     = 200 // characters
)

// OverLimits says how a txn would take its job over max_error_number or
// max_filter_ratio, "" if it would not. Both are judged on the window with the
// txn in it. It is asked before anything is applied: a txn over the limits is
// undone, and its rows come again after RESUME.
func (j *Jobs) OverLimits(req *frontendv1.CommitTxnRequest) string {
	job := j.jobs[req.JobId]
	errors := job.WindowErrors + req.GetCounters().GetErrorRows()
	rows := job.WindowRows + req.GetCounters().GetTotalRows()
	var over string
	switch {
	case errors > job.Load.MaxErrorNumber:
		over = fmt.Sprintf("%d error rows in the window are more than max_error_number %d", errors, job.Load.MaxErrorNumber)
	case rows >= MinRatioRows && float64(errors) > job.Load.MaxFilterRatio*float64(rows):
		over = fmt.Sprintf("%d error rows of %d in the window are more than max_filter_ratio %v", errors, rows, job.Load.MaxFilterRatio)
	default:
		return ""
	}
	for _, s := range req.Samples[:min(len(req.Samples), reasonSamples)] {
		over += fmt.Sprintf("; partition %d, offset %d: %s: %.*s", s.Partition, s.Offset, s.Reason, reasonRaw, s.Raw)
	}
	return over
}

// count adds a committed txn to the window. The window tumbles: once it has
// more than its rows it begins anew (Doris, after it was judged).
func count(job *raftlogv1.Job, req *frontendv1.CommitTxnRequest) {
	job.WindowErrors += req.GetCounters().GetErrorRows()
	job.WindowRows += req.GetCounters().GetTotalRows()
	job.ErrorsAfterResume = job.WindowErrors
	if job.WindowRows > job.Load.MaxBatchRows*windowBatches {
		job.WindowRows, job.WindowErrors = 0, 0
	}
}
