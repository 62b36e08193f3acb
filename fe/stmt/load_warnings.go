package stmt

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"shoal/fe/errno"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/sql/ast"
)

// warningColumns are those of routine_load_errors that SHOW LOAD WARNINGS may
// ask for, by the names of SHOW ROUTINE LOAD and of Doris's statement.
var warningColumns = map[string]string{"label": "label", "jobid": "job_id", "load_job_id": "job_id", "jobname": "job_name"}

// errorLog is what SHOW ROUTINE LOAD has for ErrorLogUrls: a query.
var errorLog = regexp.MustCompile(`^\s*SELECT \* FROM information_schema\.routine_load_errors WHERE label = '([^'\\]*)'\s*;?\s*$`)

// maxLoadWarnings is how many lines SHOW LOAD WARNINGS gives at most, as in
// Doris.
const maxLoadWarnings = 100

// showLoadWarnings carries out SHOW LOAD WARNINGS: the latest error rows of a
// job or of a txn, as a query of routine_load_errors.
func (e *Executor) showLoadWarnings(ctx context.Context, s *session.Session, stmt *ast.ShowLoadWarnings, w result.Writer) error {
	var conditions []string
	if stmt.URL != "" {
		found := errorLog.FindStringSubmatch(stmt.URL)
		if found == nil {
			return errno.New(errno.Unknown, "errCode = 2, detailMessage = Invalid url: '%.200s'; give one that SHOW ROUTINE LOAD has in ErrorLogUrls", stmt.URL)
		}
		conditions = append(conditions, "label = "+ast.QuoteString(found[1]))
	}
	for _, c := range stmt.Where {
		column, ok := warningColumns[strings.ToLower(c.Column)]
		if !ok {
			return errno.New(errno.BadField, "Unknown column '%s' in 'where clause': SHOW LOAD WARNINGS knows LABEL, LOAD_JOB_ID, JobId and JobName", c.Column)
		}
		value := ast.QuoteString(c.Value)
		if column == "job_id" {
			if _, err := strconv.ParseUint(c.Value, 10, 63); err != nil {
				return errno.New(errno.Unknown, "errCode = 2, detailMessage = %s should be the number of a job, not '%s'", c.Column, c.Value)
			}
			value = c.Value
		}
		conditions = append(conditions, column+" = "+value)
	}
	if len(conditions) == 0 {
		return errno.New(errno.Unknown, `errCode = 2, detailMessage = should supply condition like: LABEL = "your_load_label", or LOAD_JOB_ID = $job_id, or JobName = "your_job"`)
	}
	if stmt.URL == "" {
		jobs, err := e.jobsOf(s, stmt.DB)
		if err != nil {
			return err
		}
		conditions = append(conditions, "job_id IN ("+jobs+")")
	}
	limit := maxLoadWarnings
	if stmt.Limit >= 0 {
		limit = min(limit, stmt.Limit)
	}
	return e.cfg.Queries.Query(ctx, s, fmt.Sprintf(`SELECT job_id AS JobId, label AS Label,
		CONCAT('Reason: ', reason, '; topic ', kafka_topic, ' partition ', kafka_partition, ' offset ', kafka_offset, '; src line [', IFNULL(raw, ''), ']') AS ErrorMsgDetail
		FROM information_schema.routine_load_errors WHERE %s ORDER BY error_time DESC, kafka_partition, kafka_offset DESC LIMIT %d OFFSET %d`,
		strings.Join(conditions, " AND "), limit, stmt.Offset), w)
}

// jobsOf lists the ids of the jobs of a database, those that have ended too; of
// none it is 0, which is no job's. Error rows have the name that the database
// had when they were written.
func (e *Executor) jobsOf(s *session.Session, named string) (string, error) {
	name, err := databaseOf(s, named)
	if err != nil {
		return "", err
	}
	db, err := e.database(name)
	if err != nil {
		return "", err
	}
	ids := []string{"0"}
	e.cfg.Store.View(func(st *state.State) {
		for _, job := range st.Jobs() {
			if job.DatabaseId == db.Id {
				ids = append(ids, strconv.FormatUint(job.Id, 10))
			}
		}
	})
	return strings.Join(ids, ", "), nil
}
