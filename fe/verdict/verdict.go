// Package verdict says what a routine load job does, or why it does not: one
// pure function over what the leading frontend knows.
//
// SHOW ROUTINE LOAD, the admin API and later pages and alerts use the same
// sentence, so that no job is RUNNING with nothing moving and no reason for
// longer than StuckAfter. The first rule that holds wins; rules go from what
// needs a person to what heals by itself to what is well. Of asks no clock and
// no broker; the Tracker beside it keeps the little history that rates and
// "since" need, and is fed once a second.
package verdict

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"shoal/fe/auditor"
	"shoal/fe/backend"
	"shoal/fe/kafka"
	"shoal/fe/schedule"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// StuckAfter is how long a partition with lag may settle nothing before that
// is the verdict.
const StuckAfter = 30 * time.Second

// startingFor is how long tasks may take to join a new group before that is
// trouble; Kafka takes about 5 s.
const startingFor = 30 * time.Second

// Kind is the rule that held. Kinds are stable: alerts name them.
type Kind string

// The kinds, in the order of their rules.
const (
	Stopped       Kind = "stopped"
	Cancelled     Kind = "cancelled"
	PausedByUser  Kind = "paused_user"
	PausedByError Kind = "paused_error"
	SettingUp     Kind = "setting_up"
	PinningAgain  Kind = "pinning_again"
	NoBackend     Kind = "no_backend"
	NoSlot        Kind = "no_slot"
	Isolating     Kind = "isolating"
	NoTopic       Kind = "no_topic"
	BrokerAway    Kind = "broker_away"
	NotTaken      Kind = "task_refused"
	Trouble       Kind = "task_trouble"
	OpenTxn       Kind = "open_transaction"
	LedgerFull    Kind = "ledger_full"
	Stuck         Kind = "partition_stuck"
	Starting      Kind = "starting"
	Checking      Kind = "checking"
	Idle          Kind = "idle"
	Loading       Kind = "loading"
)

// Severity sorts verdicts.
type Severity int

// The severities.
const (
	Off  Severity = iota // ended, or paused by a person
	OK                   // well
	Busy                 // heals by itself
	Warn                 // look at it
	Bad                  // a person is needed
)

// A Verdict is what to tell people.
type Verdict struct {
	Kind     Kind
	Severity Severity
	// Text is one sentence or a few, facts filled in.
	Text string
}

// Input is what the leading frontend knows of a job.
type Input struct {
	Now      time.Time
	Job      *raftlogv1.Job
	Ledgers  []ledger.View           // not older than View
	Tasks    []*backendv1.TaskStatus // of live backends, any epoch
	Refused  map[schedule.Ref]string // tasks that backends did not take
	Backends []backend.Status
	// SlotsTaken by tasks of all jobs, on backends that take tasks.
	SlotsTaken int
	// Wanted is how many tasks there is work for; 0 if that is not known.
	Wanted int
	// View is the last look at topic and group, nil before the first.
	View *kafka.View
	// SetupError is why the share group could not be set up yet, or a paused job
	// not be resumed by itself.
	SetupError string
	Pinned     Pinned
	Letters    Letters
	History    History
	// Zone that times are told in; nil is UTC.
	Zone *time.Location
}

// Pinned is the last time that the leader pinned a share group again because it
// stood still. The zero Pinned is never.
type Pinned struct {
	At      time.Time
	Why     string // where the group stood
	Running bool   // it goes on: tasks are off their backends
	Failure string // why it was not done
}

// Letters is what of the dead letters of a job is not delivered.
type Letters struct {
	Rowsets int    // of error rows, that wait
	Trouble string // why the last delivery failed; empty if it did not
}

// rule is one row of the table: nil if it does not hold.
type rule func(in *Input) *Verdict

// The rules for jobs that should load. Those before it are states.
var rules = []rule{settingUp, pinningAgain, unplaced, brokerAway, notTaken, trouble, stuck, starting, idle}

// Of judges a job.
func Of(in Input) Verdict {
	if v := state(&in); v != nil {
		v.Text += letterNote(&in)
		return *v
	}
	all := current(in.Job.Tasks, in.Tasks)
	in.Tasks = current(jobs.Loaders(in.Job), all)
	verdict := loading(&in)
	for _, r := range rules {
		if v := r(&in); v != nil {
			verdict = v
			break
		}
	}
	verdict.Text += notes(&in) + repairNote(&in, all) + letterNote(&in)
	return *verdict
}

// current keeps the statuses of tasks at their current epoch.
func current(of []*raftlogv1.Task, tasks []*backendv1.TaskStatus) []*backendv1.TaskStatus {
	epochs := make(map[uint64]uint64, len(of))
	for _, t := range of {
		epochs[t.Id] = t.Epoch
	}
	var out []*backendv1.TaskStatus
	for _, s := range tasks {
		if epochs[s.Task.GetTaskId()] == s.Task.GetEpoch() && !s.Ended {
			out = append(out, s)
		}
	}
	return out
}

// state judges jobs that should not load.
func state(in *Input) *Verdict {
	job := in.Job
	switch job.State {
	case raftlogv1.JobState_JOB_STATE_STOPPED:
		return &Verdict{Stopped, Off, "Stopped at " + in.clock(job.EndedMs) + "."}
	case raftlogv1.JobState_JOB_STATE_CANCELLED:
		return &Verdict{Cancelled, Bad, "Cancelled at " + in.clock(job.EndedMs) + ": " + job.Reason + "."}
	case raftlogv1.JobState_JOB_STATE_PAUSED:
		return paused(in)
	}
	return nil
}

func paused(in *Input) *Verdict {
	job := in.Job
	text := fmt.Sprintf("Paused at %s: %s", in.clock(job.PausedMs), strings.TrimSuffix(job.Reason, "."))
	switch job.ReasonCode {
	case jobs.ReasonManualPause:
		return &Verdict{PausedByUser, Off, text + "."}
	case jobs.ReasonTooManyErrors:
		text += "; RESUME reads the same records again"
	}
	text += "."
	if at, ok := jobs.ResumesAt(job); ok {
		text += fmt.Sprintf(" It is resumed by itself at %s, or once that is possible.", in.clock(at))
		if in.SetupError != "" {
			text += " The last try failed: " + strings.TrimSuffix(in.SetupError, ".") + "."
		}
	}
	return &Verdict{PausedByError, Bad, text}
}

// settingUp: the group has no settings and start offsets yet.
func settingUp(in *Input) *Verdict {
	switch {
	case in.Job.Started:
		return nil
	case jobs.Classic(in.Job):
		return &Verdict{SettingUp, Busy, "The job is being started."}
	case in.SetupError != "":
		return &Verdict{SettingUp, Bad, "The share group is not set up yet, which is tried again: " + strings.TrimSuffix(in.SetupError, ".") + "."}
	}
	return &Verdict{SettingUp, Busy, "The share group is being set up."}
}

// pinningAgain: tasks are off while the group gets new start offsets.
func pinningAgain(in *Input) *Verdict {
	if !in.Pinned.Running {
		return nil
	}
	return &Verdict{PinningAgain, Busy, "The share group stands still at " + in.Pinned.Why + ": it is pinned again at the settled offsets, and tasks begin anew after that."}
}

// brokerAway: the last look at topic and group failed.
func brokerAway(in *Input) *Verdict {
	if in.View == nil || in.View.Err == nil {
		return nil
	}
	since := ""
	if !in.History.BrokerAway.IsZero() {
		since = " since " + in.clock(in.History.BrokerAway.UnixMilli())
	}
	switch {
	case errors.Is(in.View.Err, kafka.ErrNoTopic):
		return &Verdict{NoTopic, Bad, fmt.Sprintf("Topic '%s' is gone%s; if it is created again, the job goes on from its beginning.", in.Job.Load.Topic, since)}
	case errors.Is(in.View.Err, kafka.ErrDenied):
		return &Verdict{BrokerAway, Bad, fmt.Sprintf("Kafka refuses%s: %v.", since, in.View.Err)}
	}
	severity := Busy
	if !in.History.BrokerAway.IsZero() && in.Now.Sub(in.History.BrokerAway) > time.Minute {
		severity = Bad
	}
	what := "Kafka does not answer"
	if !errors.Is(in.View.Err, kafka.ErrUnreachable) {
		what = "Kafka cannot be asked"
	}
	return &Verdict{BrokerAway, severity, fmt.Sprintf("%s%s: %v.", what, since, in.View.Err)}
}

// notTaken: backends refuse to start the job's tasks, and none runs.
func notTaken(in *Input) *Verdict {
	if len(in.Tasks) > 0 {
		return nil
	}
	for _, t := range jobs.Loaders(in.Job) {
		if why := in.Refused[schedule.Ref{TaskID: t.Id, Epoch: t.Epoch}]; why != "" {
			return &Verdict{NotTaken, Bad, fmt.Sprintf("Backend %d does not start task %d: %s.", t.BackendId, t.Id, why)}
		}
	}
	return nil
}

// starting: no task polls yet.
func starting(in *Input) *Verdict {
	joined, youngest := 0, int64(0)
	for _, s := range in.Tasks {
		if s.Phase > backendv1.TaskStatus_PHASE_JOINING {
			joined++
		}
	}
	for _, t := range in.Job.Tasks {
		youngest = max(youngest, t.AssignedMs)
	}
	if joined > 0 {
		return nil
	}
	text := fmt.Sprintf("Tasks join the share group, %d of %d.", joined, len(jobs.Loaders(in.Job)))
	if jobs.Classic(in.Job) {
		text = fmt.Sprintf("Tasks start, %d of %d.", joined, len(jobs.Loaders(in.Job)))
	}
	if in.Now.Sub(time.UnixMilli(youngest)) > startingFor {
		return &Verdict{Starting, Bad, fmt.Sprintf("%s They were placed %s ago.", text, in.Now.Sub(time.UnixMilli(youngest)).Round(time.Second))}
	}
	return &Verdict{Starting, Busy, text}
}

// idle: there is no lag.
func idle(in *Input) *Verdict {
	total, known := Lag(in.Job.Load, in.View, in.Ledgers)
	if !known || total > 0 || in.History.RowsPerSecond > 0 {
		return nil
	}
	if v := checking(in); v != nil {
		return v
	}
	last := int64(0)
	for _, s := range in.Tasks {
		last = max(last, s.LastRecordsMs)
	}
	text := "All loaded; waiting for records."
	if last > 0 {
		text = "All loaded; waiting for records, none since " + in.clock(last) + "."
	}
	return &Verdict{Idle, OK, text + openTransactions(in)}
}

// checking: the group is done with offsets that are not settled, and the
// auditor has them read.
func checking(in *Input) *Verdict {
	if jobs.Classic(in.Job) {
		return nil
	}
	for _, l := range in.Ledgers {
		p, ok := in.View.Partitions[l.Partition]
		if !ok || kafka.TopicID(l.TopicID) != in.View.Topic.ID {
			continue
		}
		if lost := auditor.Lost(l, p); len(lost) > 0 {
			return &Verdict{Checking, Busy, fmt.Sprintf("The group will not deliver %s of partition %d again, from %d on, which are not settled: a backend looks at what they hold.",
				count(int(lost.Count()), "offset"), l.Partition, lost[0].First)}
		}
	}
	return nil
}

// loading is what holds when no rule does.
func loading(in *Input) *Verdict {
	text := fmt.Sprintf("Loading %.0f rows/s with %s", in.History.RowsPerSecond, count(len(in.Tasks), "task"))
	if total, known := Lag(in.Job.Load, in.View, in.Ledgers); known {
		text += fmt.Sprintf("; lag %d", total)
	}
	return &Verdict{Loading, OK, text + "."}
}

// count is "1 task", "2 tasks".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// clock is a time as SHOW prints it.
func (in *Input) clock(ms int64) string {
	zone := in.Zone
	if zone == nil {
		zone = time.UTC
	}
	return time.UnixMilli(ms).In(zone).Format(time.DateTime)
}
