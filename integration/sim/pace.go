package sim

import "shoal/fe/schedule"

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
			w.Loadable += schedule.Loadable(v, l.view.Partitions[v.Partition].StableEnd)
		}
	}
	w.AddTasks(job.Job, l.statuses())
	l.pacer.Pace(l.s.w.now.Sub(l.began).Milliseconds()+1, job, w)
}
