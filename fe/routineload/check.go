package routineload

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/status"

	"shoal/fe/errno"
	"shoal/fe/kafka"
	"shoal/fe/ledgercheck"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/ledger"
	"shoal/fe/verdict"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
)

// checkColumns are those of ADMIN CHECK ROUTINE LOAD LEDGER. Numbers are of
// offsets, but for Txns (with files that name offsets of the partition), Files
// and Rows, which are the job's. InFiles + Rowless + Cut + Void + Expired is
// what is settled.
var checkColumns = result.Texts("Partition", "TopicId", "Start", "Settled", "LogEnd", "Loaded", "Void", "Expired",
	"InFiles", "Rowless", "Cut", "Missing", "Twice", "Unsettled", "Txns", "Files", "Rows", "Verdict", "FirstDifferences")

// checkLogged is how often a check that takes long is logged.
const checkLogged = 10 * time.Second

// CheckLedger carries out ADMIN CHECK ROUTINE LOAD LEDGER: a row for each ledger
// and one for the job as a whole. Of several jobs of a name it is the last.
func (m *Manager) CheckLedger(ctx context.Context, s *session.Session, stmt *ast.CheckRoutineLoadLedger, progress func(string)) (*result.Table, error) {
	db, err := m.database(s, stmt.Job.DB)
	if err != nil {
		return nil, err
	}
	var in ledgercheck.Input
	var release func()
	m.cfg.Store.View(func(st *state.State) {
		release = m.cfg.Leases.Hold(st)
		if all := st.JobsByName(db.Id, stmt.Job.Name); len(all) > 0 {
			in = ledgercheck.Take(st, all[len(all)-1].Id)
		}
	})
	defer release()
	if in.Job == nil {
		return nil, refuse("There is no job named %s in db %s", stmt.Job.Name, db.Name)
	}
	logged := time.Now()
	report, err := ledgercheck.Run(ctx, in, m.cfg.Backends, func(done, total int) {
		progress(fmt.Sprintf("read %d of %d files", done, total))
		if time.Since(logged) >= checkLogged {
			logged = time.Now()
			m.cfg.Logger.Info("checking a ledger", "job_id", in.Job.Id, "files_read", done, "files", total)
		}
	})
	if err != nil {
		return nil, errno.Wrap(errno.Unknown, err, "errCode = 2, detailMessage = the files of job %s could not be looked at: %s", stmt.Job.Name, status.Convert(err).Message())
	}
	if report.Verdict() != ledgercheck.OK {
		m.cfg.Logger.Error("the check of a ledger found differences", "job_id", in.Job.Id, "verdict", report.Verdict(), "differences", report.Differences.String())
	}
	return m.checkTable(in.Job, report), nil
}

func (m *Manager) checkTable(job *raftlogv1.Job, report *ledgercheck.Report) *result.Table {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	l := look{job: job, view: m.auditor.View(job.Id)}
	table := &result.Table{Columns: checkColumns}
	var all ledgercheck.Partition
	for _, p := range report.Partitions {
		v, end := p.Ledger, unknown
		if at, ok := l.partition(v.Key); ok {
			end = number(verdict.LogEnd(v, at))
		}
		cells := append(row(number(int64(v.Partition)), kafka.TopicID(v.TopicID).String(), number(v.Start), number(v.Settled), end), checkNumbers(&p)...)
		table.Rows = append(table.Rows, append(cells, result.Text(strconv.Itoa(p.Txns)), nil, nil, result.Text(p.Verdict()), result.Text(p.Differences.String())))
		add(&all, &p)
	}
	cells := append(row("all", "", "", "", ""), checkNumbers(&all)...)
	cells[1], cells[2], cells[3], cells[4] = nil, nil, nil, nil
	cells = append(cells, nil)
	table.Rows = append(table.Rows, append(cells, row(strconv.Itoa(report.Files), number(report.Rows), report.Verdict(), report.Differences.String())...))
	return table
}

// checkNumbers are the cells Loaded to Unsettled.
func checkNumbers(p *ledgercheck.Partition) []result.Cell {
	var cells []result.Cell
	for _, n := range []int64{p.Ledger.Loaded, p.Ledger.Void, p.Ledger.Expired, p.Found, p.Rowless, p.Cut, p.Missing, p.Twice, p.Unsettled} {
		cells = append(cells, result.Text(strconv.FormatInt(n, 10)))
	}
	return cells
}

// add adds the numbers of p.
func add(sum, p *ledgercheck.Partition) {
	sum.Ledger = ledger.View{Loaded: sum.Ledger.Loaded + p.Ledger.Loaded, Void: sum.Ledger.Void + p.Ledger.Void, Expired: sum.Ledger.Expired + p.Ledger.Expired}
	sum.Found += p.Found
	sum.Rowless += p.Rowless
	sum.Cut += p.Cut
	sum.Missing += p.Missing
	sum.Twice += p.Twice
	sum.Unsettled += p.Unsettled
}
