package routineload

import (
	"fmt"
	"strconv"

	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// Rows is information_schema.routine_load_jobs: all jobs of all databases, those
// that have ended too.
func (m *Manager) Rows(s *session.Session) [][]result.Cell {
	var out [][]result.Cell
	around := m.lookAround()
	for _, job := range m.all() {
		out = append(out, m.lookAt(job, around, s.Location()).infoRow(s))
	}
	return out
}

// infoRow has the cells of SHOW ROUTINE LOAD and what monitors ask for: how many
// tasks' last txn failed, and whether the job is paused by other than a person.
func (l look) infoRow(s *session.Session) []result.Cell {
	job, zone := l.job, s.Location()
	shown := make(map[string]result.Cell)
	for i, cell := range l.jobRow(zone) {
		shown[jobColumns[i].Name] = cell
	}
	failing := 0
	for _, t := range l.tasks {
		if t.Trouble != "" {
			failing++
		}
	}
	abnormal := job.State == raftlogv1.JobState_JOB_STATE_PAUSED && job.ReasonCode != jobs.ReasonManualPause
	var cells []result.Cell
	for _, name := range []string{"Id", "Name", "CreateTime", "PauseTime", "EndTime", "DbName", "TableName", "State", "CurrentTaskNum", "JobProperties",
		"DataSourceProperties", "CustomProperties", "Statistic", "Progress", "Lag", "ReasonOfStateChanged", "ErrorLogUrls", "User"} {
		cells = append(cells, shown[name])
	}
	return append(cells, result.Text(strconv.Itoa(failing)), result.Text(bit(abnormal)), shown["ComputeGroup"], result.Text(firstError(job)))
}

// bit is a boolean as MySQL prints it.
func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// firstError is the oldest error row that is remembered.
func firstError(job *raftlogv1.Job) string {
	if len(job.Samples) == 0 {
		return ""
	}
	s := job.Samples[0]
	return fmt.Sprintf("partition %d, offset %d: %s", s.Partition, s.Offset, s.Reason)
}
