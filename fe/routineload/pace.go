package routineload

import (
	"time"

	"shoal/fe/auditor"
	"shoal/fe/kafka"
	"shoal/fe/schedule"
	"shoal/fe/state/ledger"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// pace says how many tasks a job has work for. The caller holds m.planning.
func (m *Manager) pace(now time.Time, job *schedule.Job, ledgers []ledger.View) {
	w := work(job.Job, ledgers, m.auditor.View(job.Id), m.cfg.Backends.Tasks(job.Id))
	m.pacer.Pace(now.Sub(m.began).Milliseconds()+1, job, w)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wanted[job.Id] = job.Wanted
}

// work is what a job has to do and does, by the last look at its topic and the
// last heartbeats. What could be loaded is the ledger's word: the share group's own
// lag counts what open transactions hold back, and trails.
func work(job *raftlogv1.Job, ledgers []ledger.View, view *kafka.View, tasks []*backendv1.TaskStatus) schedule.Work {
	w := schedule.Work{Loadable: -1}
	seen := view != nil && view.Err == nil
	if seen {
		w.Loadable = 0
	}
	for _, l := range ledgers {
		w.Settled += l.Loaded + l.Void + l.Expired
		if seen && kafka.TopicID(l.TopicID) == view.Topic.ID && auditor.Reads(job.Load, l.Partition) {
			w.Loadable += schedule.Loadable(l, view.Partitions[l.Partition].ReadableEnd(job.Load.ReadUncommitted))
		}
	}
	w.AddTasks(job, tasks)
	return w
}
