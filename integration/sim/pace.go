package sim

import (
	"slices"

	"shoal/fe/schedule"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// pace tells the pacer what the job has to do and does, as fe/routineload sees
// it.
func (l *leadership) pace(job *schedule.Job) {
	w := schedule.Work{Loadable: -1}
	if l.view != nil && l.view.Err == nil {
		w.Loadable = 0
	}
	for _, v := range l.ledgers() {
		w.Settled += v.Loaded + v.Void + v.Expired
		if w.Loadable >= 0 {
			w.Loadable += max(0, l.view.Partitions[v.Partition].StableEnd-v.Settled-v.Ranges.Count())
		}
	}
	for _, s := range l.statuses() {
		current := slices.ContainsFunc(job.Tasks, func(t *raftlogv1.Task) bool {
			return t.Id == s.Task.TaskId && t.Epoch == s.Task.Epoch && len(t.Repair) == 0
		})
		if !current || s.Ended {
			continue
		}
		w.Trouble = w.Trouble || s.Trouble != ""
		if s.Phase > backendv1.TaskStatus_PHASE_JOINING {
			w.Joined++
		}
		if s.HeldRecords > 0 {
			w.Busy++
		}
	}
	l.pacer.Pace(l.s.w.now.Sub(l.began).Milliseconds()+1, job, w)
}
