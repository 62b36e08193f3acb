package verdict

import (
	"time"

	"shoal/fe/kafka"
	"shoal/fe/state/ledger"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// rateWindow is what rows per second are counted over.
const rateWindow = 10 * time.Second

// A History is what a Tracker knows of one job. The zero History knows
// nothing.
type History struct {
	RowsPerSecond float64
	// Moved is when each ledger last settled an offset, had nothing to settle,
	// or its job was not running.
	Moved map[ledger.Key]time.Time
	// BrokerAway is since when looks at topic and group fail; zero while they
	// do not.
	BrokerAway time.Time
}

// lastMoved is when the job last settled an offset.
func (h History) lastMoved() time.Time {
	var last time.Time
	for _, at := range h.Moved {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// A Tracker keeps the history of all jobs. It is used by one goroutine at a
// time.
type Tracker struct{ jobs map[uint64]*track }

// track is what is remembered of one job.
type track struct {
	rows    []sample // of the last rateWindow, oldest first
	settled map[ledger.Key]settled
	away    time.Time
}

type sample struct {
	at   time.Time
	rows int64
}

type settled struct {
	offsets int64
	at      time.Time
}

// NewTracker is a tracker that has seen nothing.
func NewTracker() *Tracker { return &Tracker{jobs: make(map[uint64]*track)} }

// Observe takes note of a job as it is now.
func (t *Tracker) Observe(now time.Time, job *raftlogv1.Job, ledgers []ledger.View, view *kafka.View) {
	j := t.jobs[job.Id]
	if j == nil {
		j = &track{settled: make(map[ledger.Key]settled)}
		t.jobs[job.Id] = j
	}
	if job.State != raftlogv1.JobState_JOB_STATE_RUNNING {
		clear(j.settled)
		j.rows = nil
	}
	j.rows = append(j.rows, sample{now, job.Counters.GetLoadedRows()})
	for len(j.rows) > 2 && now.Sub(j.rows[0].at) > rateWindow {
		j.rows = j.rows[1:]
	}
	for _, l := range ledgers {
		n := l.Loaded + l.Void + l.Expired
		if last, seen := j.settled[l.Key]; !seen || last.offsets != n || caughtUp(job, view, l) {
			j.settled[l.Key] = settled{n, now}
		}
	}
	switch {
	case view == nil || view.Err == nil:
		j.away = time.Time{}
	case j.away.IsZero():
		j.away = now
	}
}

// caughtUp tells whether a partition has nothing left to load.
func caughtUp(job *raftlogv1.Job, view *kafka.View, l ledger.View) bool {
	if view == nil || view.Err != nil || view.Topic.ID != kafka.TopicID(l.TopicID) {
		return false
	}
	p, ok := view.Partitions[l.Partition]
	return ok && !behind(job, l, p)
}

// Retain forgets the jobs that keep does not name.
func (t *Tracker) Retain(keep func(jobID uint64) bool) {
	for id := range t.jobs {
		if !keep(id) {
			delete(t.jobs, id)
		}
	}
}

// History is what is known of a job.
func (t *Tracker) History(jobID uint64) History {
	j := t.jobs[jobID]
	if j == nil {
		return History{}
	}
	h := History{Moved: make(map[ledger.Key]time.Time, len(j.settled)), BrokerAway: j.away}
	for key, s := range j.settled {
		h.Moved[key] = s.at
	}
	first, last := j.rows[0], j.rows[len(j.rows)-1]
	if span := last.at.Sub(first.at); span > 0 {
		h.RowsPerSecond = float64(last.rows-first.rows) / span.Seconds()
	}
	return h
}
