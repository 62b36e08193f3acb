package backend

import (
	"fmt"
	"slices"
	"time"

	backendv1 "shoal/proto/backend/v1"
)

// A backend that keeps failing while others do well is put on a black list: it
// gets no tasks, and its own move. Doris has the same for its cloud mode.
const (
	// failingFor is how long nothing must have gone well there.
	failingFor = 15 * time.Second
	// listedFor is how long it is listed at least; Doris's
	// routine_load_blacklist_expire_time_second.
	listedFor = 5 * time.Minute
	// healthyFor is how long its warehouse must take writes again to be off it
	// earlier, if that was why.
	healthyFor = 30 * time.Second
	// A process that was started so many times within restartWindow fails too.
	manyStarts    = 4
	restartWindow = 5 * time.Minute
)

// A condition is what a backend shows at one moment.
type condition struct {
	id        uint64
	warehouse string // why it refuses writes
	startedMs int64  // the process
	well      jobSet // jobs of which a task does well there
	failing   jobSet // jobs of which tasks have trouble there, and none does well
	trouble   string // of one of these
	ready     bool   // it may be given tasks: a list needs one that may
}

type jobSet map[uint64]bool

// A blackList is which backends keep failing. It asks no clock.
type blackList map[uint64]*suspect

// A suspect is what is remembered of a backend.
type suspect struct {
	failing time.Time // since when, zero if it does not
	healthy time.Time // since when its warehouse takes writes
	starts  []time.Time
	last    int64 // start, as the backend tells it
	why     string
	until   time.Time // listed, zero if it is not
	early   bool      // it was for the warehouse, which may end it
}

// judge takes note of how all backends are that are alive. What is not among them is
// remembered: one that restarts again and again is not alive in between.
func (l blackList) judge(now time.Time, all []condition) {
	for _, c := range all {
		s := l[c.id]
		if s == nil {
			s = &suspect{healthy: now}
			l[c.id] = s
		}
		s.note(now, c)
		why := failure(c, all)
		if s.restarts() {
			why = fmt.Sprintf("it was started %d times within %v", len(s.starts), restartWindow)
		}
		switch {
		case why == "":
			s.failing = time.Time{}
		case s.failing.IsZero():
			s.failing = now
		}
		switch {
		case s.listed(now):
		case why != "" && (now.Sub(s.failing) >= failingFor || s.restarts()) && l.otherReady(now, c.id, all):
			s.until, s.why, s.early = now.Add(listedFor), why, c.warehouse != ""
		}
	}
}

func (s *suspect) note(now time.Time, c condition) {
	if c.warehouse != "" {
		s.healthy = time.Time{}
	} else if s.healthy.IsZero() {
		s.healthy = now
	}
	if c.startedMs != s.last {
		s.last = c.startedMs
		s.starts = append(s.starts, now)
	}
	s.starts = slices.DeleteFunc(s.starts, func(at time.Time) bool { return now.Sub(at) > restartWindow })
	if s.early && !s.healthy.IsZero() && now.Sub(s.healthy) >= healthyFor {
		s.until, s.early = time.Time{}, false
	}
}

func (s *suspect) restarts() bool { return len(s.starts) >= manyStarts }

func (s *suspect) listed(now time.Time) bool { return now.Before(s.until) }

// why is the reason that a backend is listed for, empty if it is not.
func (l blackList) why(now time.Time, id uint64) string {
	if s := l[id]; s != nil && s.listed(now) {
		return s.why
	}
	return ""
}

// otherReady tells whether a backend may do without: another does not fail, and
// is not listed.
func (l blackList) otherReady(now time.Time, id uint64, all []condition) bool {
	return slices.ContainsFunc(all, func(c condition) bool {
		return c.id != id && c.ready && l.why(now, c.id) == "" && failure(c, all) == ""
	})
}

// failure is what goes wrong at a backend and not elsewhere, empty if nothing
// does. Trouble of one job may be the job's own, unless it does well elsewhere.
func failure(c condition, all []condition) string {
	switch {
	case c.warehouse != "":
		return "its warehouse refuses writes: " + c.warehouse
	case len(c.well) > 0 || len(c.failing) == 0:
		return ""
	}
	wellElsewhere := slices.ContainsFunc(all, func(o condition) bool { return o.id != c.id && len(o.well) > 0 })
	ownElsewhere := slices.ContainsFunc(all, func(o condition) bool {
		for job := range c.failing {
			if o.well[job] {
				return true
			}
		}
		return false
	})
	if ownElsewhere || wellElsewhere && len(c.failing) > 1 {
		return "its tasks fail, and those of others do not: " + c.trouble
	}
	return ""
}

// condition is what a record shows. Tasks that it did not start count as failing.
func (r *record) condition() condition {
	c := condition{
		id: r.id, warehouse: r.answer.GetWarehouseError(), startedMs: r.answer.GetStartTimeMs(), ready: r.answer.GetSlots() > 0,
		well: jobSet{}, failing: jobSet{},
	}
	for _, s := range r.answer.GetTasks() {
		switch {
		case s.Ended:
		case fails(s):
			c.failing[s.JobId], c.trouble = true, s.Trouble
		case s.Trouble == "" && s.Phase > backendv1.TaskStatus_PHASE_JOINING:
			c.well[s.JobId] = true
		}
	}
	for ref, job := range r.rejected {
		c.failing[job], c.trouble = true, r.refused[ref]
	}
	return c
}

// fails tells whether a task has trouble that its place may be the cause of, and
// is at it: what is idle may not know that it is over.
func fails(s *backendv1.TaskStatus) bool {
	switch s.TroubleKind {
	case backendv1.TroubleKind_TROUBLE_KIND_BROKER, backendv1.TroubleKind_TROUBLE_KIND_WAREHOUSE,
		backendv1.TroubleKind_TROUBLE_KIND_FRONTEND, backendv1.TroubleKind_TROUBLE_KIND_INTERNAL:
		return s.HeldRecords > 0 || s.Phase == backendv1.TaskStatus_PHASE_BACKING_OFF || s.Phase == backendv1.TaskStatus_PHASE_JOINING
	}
	return false
}
