// Package ledgercheck proves a job's delivery ledger from the files that its
// rows are in: ADMIN CHECK ROUTINE LOAD LEDGER.
//
// Every offset that a ledger has settled must be in exactly one txn's files, as
// the files themselves say, or be known as one that is in none: void or expired,
// in a txn all of whose records were filtered or empty, or in a rowset that
// TRUNCATE or DROP took away. The first two are told by the files of the txn
// that found them, or by the ledger's trace; see docs/decisions/ledger-check.md.
// The counts must agree: the ledgers' with the offsets, the job's with the rows
// in the files.
//
// A check works on one version of the state, so a job may go on meanwhile:
// files do not change. It reads footers a batch at a time; what it holds for a
// run of offsets in a file is 24 bytes. It starts no goroutines.
package ledgercheck

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"shoal/fe/state"
	"shoal/fe/state/ledger"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	// batchFiles is how many footers are asked for at a time.
	batchFiles = 256
	// shownDifferences is how many a partition, and the job, tell of.
	shownDifferences = 5
)

// Verdicts. Those of a partition that differs are joined by a comma.
const (
	OK       = "OK"
	Unproven = "UNPROVEN" // the ledger is of a release that did not keep what the check needs
	Differs  = "DIFFERS"  // of a job

	Missing   = "MISSING"   // settled, and nothing tells by what
	Twice     = "TWICE"     // in the files of two txns
	Unsettled = "UNSETTLED" // in a file, and not settled
	Counts    = "COUNTS"    // the ledger's numbers are not those of its offsets
)

// Input is what a check is about: all of one version of the state.
type Input struct {
	Job     *raftlogv1.Job
	Ledgers []ledger.View
	// Tables are the rowsets of the tables of the job's database, of other jobs too.
	Tables [][]*raftlogv1.TableRowset
	Errors []*raftlogv1.ErrorRowset
}

// Take is what the check of a job needs of a state. It takes time by the number
// of tables and partitions, not of rowsets.
func Take(st *state.State, jobID uint64) Input {
	in := Input{Job: st.JobByID(jobID), Ledgers: st.Ledgers(jobID), Errors: st.ErrorRowsets(jobID)}
	for _, t := range st.Tables(in.Job.GetDatabaseId()) {
		in.Tables = append(in.Tables, st.Rowsets(t.Id))
	}
	return in
}

// Footers reads the footers of files: an answer for each path, in their order.
type Footers interface {
	ReadFooters(ctx context.Context, paths []string) ([]*backendv1.ReadFootersResponse, error)
}

// A Report is what a check found.
type Report struct {
	Partitions []Partition // as Input.Ledgers has them
	Files      int         // that were read
	// Rows in the files with rows of tables.
	Rows        int64
	Differences Differences // of files, and of the job as a whole
}

// Verdict is OK if every partition and the job as a whole are.
func (r *Report) Verdict() string {
	verdict := OK
	for i := range r.Partitions {
		switch v := r.Partitions[i].Verdict(); v {
		case OK:
		case Unproven:
			verdict = Unproven
		default:
			return Differs
		}
	}
	if r.Differences.total > 0 {
		return Differs
	}
	return verdict
}

// A Partition is what was found of one ledger. The numbers are of offsets.
type Partition struct {
	Ledger ledger.View
	Txns   int // with files that name offsets of it
	// Found is in files; Rowless and Cut are what the trace tells of the others.
	Found, Rowless, Cut, Missing, Twice, Unsettled int64
	Differences                                    Differences
	miscounted                                     bool
}

// Verdict is OK, Unproven, or what is wrong.
func (p *Partition) Verdict() string {
	if !p.Ledger.Trace.Kept {
		return Unproven
	}
	var wrong []string
	for _, w := range []struct {
		is   bool
		what string
	}{{p.Missing > 0, Missing}, {p.Twice > 0, Twice}, {p.Unsettled > 0, Unsettled}, {p.miscounted, Counts}} {
		if w.is {
			wrong = append(wrong, w.what)
		}
	}
	if len(wrong) == 0 {
		return OK
	}
	return strings.Join(wrong, ", ")
}

// Differences keeps the first few and counts them all.
type Differences struct {
	first []string
	total int
}

func (d *Differences) add(format string, args ...any) {
	if !d.full() {
		d.first = append(d.first, fmt.Sprintf(format, args...))
	}
	d.total++
}

// full tells that nobody will read the next one.
func (d *Differences) full() bool { return d.total >= shownDifferences }

// String is the first ones, and how many more there are; "" for none.
func (d *Differences) String() string {
	text := strings.Join(d.first, "; ")
	if more := d.total - len(d.first); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Run reads all files of a job and compares. progress is told how many of how
// many files were read. An error means that files could not be looked at, not
// that one of them is bad: that is a difference.
func Run(ctx context.Context, in Input, footers Footers, progress func(done, total int)) (*Report, error) {
	c := newCheck(in)
	done := 0
	for batch := range slices.Chunk(c.files, batchFiles) {
		progress(done, len(c.files))
		paths := make([]string, len(batch))
		for i, f := range batch {
			paths[i] = f.path
		}
		answers, err := footers.ReadFooters(ctx, paths)
		if err != nil {
			return nil, err
		}
		for i, f := range batch {
			if i >= len(answers) || answers[i].Path != f.path {
				return nil, fmt.Errorf("the backend did not answer for file %s", f.path)
			}
			c.read(f, answers[i])
		}
		done += len(batch)
	}
	return c.report(), nil
}
