package auditor

import (
	"fmt"
	"time"

	"shoal/fe/kafka"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	// crowdedRanges above the settled offset are closed at once, so that
	// commits need not wait (ledger.MaxRanges).
	crowdedRanges = 32
	// What one probe reads at most.
	maxProbeRanges  = 256
	maxProbeOffsets = 20_000
	// confirmAfter lies between two looks that must agree before a job is
	// paused: a commit may have been on its way, a new partition leader may
	// not know its high watermark yet.
	confirmAfter = 10 * time.Second
	// forgetEvery bounds how often remembered voids are dropped.
	forgetEvery = 10 * time.Second
)

// Input is one look at a job. Before and After are its ledgers as they were
// before and after the view was taken: what the group is done with was settled
// before the view, so After has it; what Before has, the log had.
type Input struct {
	Now           time.Time
	Job           *raftlogv1.Job
	Before, After []ledger.View
	View          *kafka.View
	Tasks         []*backendv1.TaskStatus // of live backends, any epoch
}

// A Plan is what follows from one look.
type Plan struct {
	Commands []*raftlogv1.Command
	Probes   []Probe
	// Blocked is why the group has to be pinned again, empty if it has not.
	Blocked []Blocked
}

// A Probe asks what offsets of a partition hold.
type Probe struct {
	ledger.Key
	Ask offsets.Set
	// Sure is the part of Ask that the group will not deliver again, whatever
	// it holds.
	Sure offsets.Set
	// Settled is what was settled at the look, all that lies below the ledger's
	// settled offset included.
	Settled offsets.Set
}

// An Audit is what the auditor remembers of one job from look to look. It is
// used by one goroutine at a time.
type Audit struct {
	lost      map[ledger.Key]time.Time // since when the group is known to have given up records
	truncated map[ledger.Key]time.Time
	progress  map[ledger.Key]progress
	standing  map[ledger.Key]*standing
	idle      time.Time            // since when no task was seen to hold a record
	strangers map[string]time.Time // member ids, by when they were first in the way
	replaced  time.Time            // the topic id of the ledgers was first missed; zero while it is there
	forgotten uint64               // remembered voids were dropped up to this log index
	forgetAt  time.Time
}

// progress is how far a partition was at a time.
type progress struct {
	at      time.Time
	settled int64 // offsets
}

// New is an audit that remembers nothing.
func New() *Audit {
	return &Audit{
		lost:      make(map[ledger.Key]time.Time),
		truncated: make(map[ledger.Key]time.Time),
		progress:  make(map[ledger.Key]progress),
		standing:  make(map[ledger.Key]*standing),
	}
}

// Plan finds partitions without a ledger, logs that were truncated, unsettled
// offsets to be looked at, and groups that stand still.
func (a *Audit) Plan(in Input) Plan {
	var plan Plan
	if in.View.Err != nil {
		return plan
	}
	if add := newLedgers(in); add != nil {
		plan.Commands = append(plan.Commands, add)
	}
	if settle := a.replacedTopic(in); settle != nil {
		plan.Commands = append(plan.Commands, settle)
	}
	if pause := a.truncation(in); pause != nil {
		plan.Commands = append(plan.Commands, pause)
		return plan
	}
	if pause := standsStill(in); pause != nil {
		plan.Commands = append(plan.Commands, pause)
		return plan
	}
	if jobs.Classic(in.Job) {
		return plan
	}
	for _, l := range in.After {
		if partition, ok := current(in.View, l.Key); ok {
			if probe, ok := a.examine(in, l, partition); ok {
				plan.Probes = append(plan.Probes, probe)
			}
		}
	}
	plan.Blocked = a.blocked(in)
	return plan
}

// current is what the view says of a ledger's partition; nothing if the ledger
// is of another topic id.
func current(view *kafka.View, key ledger.Key) (kafka.Partition, bool) {
	if kafka.TopicID(key.TopicID) != view.Topic.ID {
		return kafka.Partition{}, false
	}
	partition, ok := view.Partitions[key.Partition]
	return partition, ok
}

// newLedgers opens ledgers for partitions that were added, or of a topic that
// was created again: both are read from offset 0 (KAFKA-20742, and the reset
// policy earliest), wherever the job began. What kafka_partitions leaves out is
// not the job's.
func newLedgers(in Input) *raftlogv1.Command {
	have := make(map[ledger.Key]bool, len(in.After))
	for _, l := range in.After {
		have[l.Key] = true
	}
	add := &raftlogv1.AddLedgers{JobId: in.Job.Id}
	for _, p := range in.View.Topic.Partitions {
		if Reads(in.Job.Load, p) && !have[ledger.Key{TopicID: in.View.Topic.ID, Partition: p}] {
			add.Starts = append(add.Starts, &raftlogv1.LedgerStart{TopicId: in.View.Topic.ID[:], Partition: p, Traced: true})
		}
	}
	if len(add.Starts) == 0 {
		return nil
	}
	return &raftlogv1.Command{AtMs: in.Now.UnixMilli(), Body: &raftlogv1.Command_AddLedgers{AddLedgers: add}}
}

// replacedTopic settles the holes in ledgers of a topic id that is no more.
// Their records are gone with it, except those that a task still holds, which
// the ledger lets turn from expired into loaded.
func (a *Audit) replacedTopic(in Input) *raftlogv1.Command {
	settle := newSettle(in.Job)
	for _, l := range in.After {
		if _, ok := current(in.View, l.Key); ok {
			continue
		}
		if gone := holes(l); len(gone) > 0 {
			settle.add(l.Key, nil, gone)
		}
	}
	if settle.empty() {
		a.replaced = time.Time{}
		return nil
	}
	if a.replaced.IsZero() {
		a.replaced = in.Now
	}
	if in.Now.Sub(a.replaced) < confirmAfter {
		return nil
	}
	return settle.command(in.Now)
}

// truncation pauses the job when a log ends below what was settled from it:
// offsets would name other records from now on.
func (a *Audit) truncation(in Input) *raftlogv1.Command {
	for _, l := range in.Before {
		partition, ok := current(in.View, l.Key)
		if !ok || partition.End >= top(l) {
			delete(a.truncated, l.Key)
			continue
		}
		since, seen := a.truncated[l.Key]
		if !seen {
			a.truncated[l.Key] = in.Now
			continue
		}
		if in.Now.Sub(since) >= confirmAfter {
			delete(a.truncated, l.Key)
			return pause(in.Job, in.Now, truncated(in.Job.Load.Topic, l, partition))
		}
	}
	return nil
}

// truncated says how a ledger goes beyond its log: the job was told to begin
// there, or records were settled that are not in it any more.
func truncated(topic string, l ledger.View, p kafka.Partition) string {
	const remedy = "ALTER ROUTINE LOAD with kafka_partitions and kafka_offsets says where to go on"
	if top(l) == l.Start {
		return fmt.Sprintf("topic '%s', partition %d: the job begins at offset %d, but the log begins at %d and ends at %d; %s",
			topic, l.Partition, l.Start, p.Log.Start, p.End, remedy)
	}
	return fmt.Sprintf("topic '%s', partition %d: the log ends at offset %d, but offsets up to %d are settled: the log was truncated, and offsets name other records now; %s",
		topic, l.Partition, p.End, top(l)-1, remedy)
}

// examine finds what of a partition has to be looked at.
func (a *Audit) examine(in Input, l ledger.View, p kafka.Partition) (Probe, bool) {
	sure := Lost(l, p)
	ask := sure
	if len(l.Ranges) > crowdedRanges {
		ask = ask.Union(holes(l).Below(p.StableEnd))
	}
	if a.stuck(in, l, p) {
		ask = ask.Union(unsettled(l, p.StableEnd))
	}
	if len(sure) == 0 {
		delete(a.lost, l.Key)
	}
	ask = chunk(ask, maxProbeRanges, maxProbeOffsets)
	return Probe{Key: l.Key, Ask: ask, Sure: sure.Intersect(ask), Settled: settledSet(l)}, len(ask) > 0
}

// stuck tells whether a partition has records and has settled none of them for
// twice the lock time; it says so once in that time.
func (a *Audit) stuck(in Input, l ledger.View, p kafka.Partition) bool {
	settled := l.Loaded + l.Void + l.Expired
	last, seen := a.progress[l.Key]
	if !seen || last.settled != settled || p.Lag == 0 {
		a.progress[l.Key] = progress{at: in.Now, settled: settled}
		return false
	}
	lock := time.Duration(in.Job.LockDurationMs) * time.Millisecond
	if in.Now.Sub(last.at) < 2*lock {
		return false
	}
	a.progress[l.Key] = progress{at: in.Now, settled: settled}
	return true
}

// Lost is the unsettled offsets that the group will not deliver again: below
// its start offset, below the log's start, and below the log's end when the
// group has no lag. What lies at or above the last stable offset is open. The
// ledger must not be older than p.
func Lost(l ledger.View, p kafka.Partition) offsets.Set {
	bound := max(p.Position.Start, p.Log.Start)
	if p.Lag == 0 {
		bound = max(bound, p.End)
	}
	return unsettled(l, min(bound, p.StableEnd))
}

// unsettled is the unsettled offsets below an offset.
func unsettled(l ledger.View, below int64) offsets.Set {
	return offsets.Of(offsets.Range{First: l.Settled, Last: below - 1}).Subtract(l.Ranges)
}

// settledSet is the settled offsets. It is never empty: -1, which is no offset,
// is below the first.
func settledSet(l ledger.View) offsets.Set {
	return offsets.Of(offsets.Range{First: -1, Last: l.Settled - 1}).Union(l.Ranges)
}

// holes is the unsettled offsets between settled ones.
func holes(l ledger.View) offsets.Set { return unsettled(l, top(l)) }

// top is one above the highest settled offset.
func top(l ledger.View) int64 {
	if n := len(l.Ranges); n > 0 {
		return l.Ranges[n-1].Last + 1
	}
	return l.Settled
}
