package verdict

import (
	"fmt"
	"strings"
	"time"

	"shoal/fe/kafka"
	"shoal/fe/state/ledger"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// troubleAfter is how long nothing may be settled before a task's trouble is
// the verdict: what others make good meanwhile is not.
const troubleAfter = 5 * time.Second

// trouble: tasks, or the warehouse as backends see it, report one, and nothing
// moves.
func trouble(in *Input) *Verdict {
	quiet := in.Now.Sub(in.History.lastMoved())
	if quiet < troubleAfter {
		return nil
	}
	for _, s := range in.Tasks {
		if s.Trouble != "" {
			return &Verdict{Trouble, healing(quiet), subject(s.TroubleKind) + ": " + strings.TrimSuffix(s.Trouble, ".") + deliveries(in.Tasks) + "."}
		}
	}
	for _, b := range in.Backends {
		if b.Alive && b.WarehouseError != "" && runsOn(in, b.ID) {
			return &Verdict{Trouble, healing(quiet), fmt.Sprintf("The warehouse refuses writes of backend %d: %s.", b.ID, b.WarehouseError)}
		}
	}
	return nil
}

// healing is how bad it is that nothing moved for so long.
func healing(quiet time.Duration) Severity {
	if quiet > time.Minute {
		return Bad
	}
	return Busy
}

func runsOn(in *Input, backendID uint64) bool {
	for _, t := range in.Job.Tasks {
		if t.BackendId == backendID {
			return true
		}
	}
	return false
}

// subject says who makes the trouble.
func subject(kind backendv1.TroubleKind) string {
	switch kind {
	case backendv1.TroubleKind_TROUBLE_KIND_BROKER:
		return "Kafka fails"
	case backendv1.TroubleKind_TROUBLE_KIND_AUTHORIZATION:
		return "Kafka refuses"
	case backendv1.TroubleKind_TROUBLE_KIND_WAREHOUSE:
		return "The warehouse refuses writes"
	case backendv1.TroubleKind_TROUBLE_KIND_FRONTEND:
		return "Tasks cannot commit"
	case backendv1.TroubleKind_TROUBLE_KIND_REFUSED:
		return "Commits are refused"
	case backendv1.TroubleKind_TROUBLE_KIND_OUT_OF_RANGE, backendv1.TroubleKind_TROUBLE_KIND_UNREADABLE:
		return "A partition stands still"
	case backendv1.TroubleKind_TROUBLE_KIND_MEMORY:
		return "A backend is short of memory"
	}
	return "Tasks fail"
}

// deliveries warns of records that were handed out often: at the delivery
// limit the broker gives them to nobody again.
func deliveries(tasks []*backendv1.TaskStatus) string {
	most := int32(0)
	for _, s := range tasks {
		most = max(most, s.MaxDeliveries)
	}
	if most < 4 {
		return ""
	}
	return fmt.Sprintf(" (some records were delivered %d times)", most)
}

// stuck: a partition has lag and has settled nothing for StuckAfter.
func stuck(in *Input) *Verdict {
	if in.View == nil || in.View.Err != nil || len(in.Tasks) == 0 {
		return nil
	}
	for _, l := range in.Ledgers {
		p, ok := in.View.Partitions[l.Partition]
		if !ok || kafka.TopicID(l.TopicID) != in.View.Topic.ID || !behind(in.Job, l, p) {
			continue
		}
		since, seen := in.History.Moved[l.Key]
		if !seen || in.Now.Sub(since) < StuckAfter {
			continue
		}
		return judge(in, l, p, in.Now.Sub(since))
	}
	return nil
}

// behind tells whether a partition has, or may have, something to load.
func behind(job *raftlogv1.Job, l ledger.View, p kafka.Partition) bool {
	lag, known := PartitionLag(job.Load, l, p)
	return lag > 0 || !known
}

// judge says why a partition stands still.
func judge(in *Input, l ledger.View, p kafka.Partition, quiet time.Duration) *Verdict {
	switch {
	case p.StableEnd <= l.Settled && p.End > p.StableEnd:
		return &Verdict{OpenTxn, Warn, fmt.Sprintf("Partition %d waits for a transaction of its producer that is open since offset %d.", l.Partition, p.StableEnd)}
	case p.End <= l.Settled:
		return nil // all of the log is settled; the group's lag trails
	case len(l.Ranges) >= ledger.MaxRanges:
		return &Verdict{LedgerFull, Bad, fmt.Sprintf("Commits to partition %d wait: its ledger has %d ranges above offset %d, which the auditor closes as backends prove the holes.", l.Partition, len(l.Ranges), l.Settled)}
	}
	lag, _ := PartitionLag(in.Job.Load, l, p)
	return &Verdict{Stuck, Bad, fmt.Sprintf("Partition %d has settled nothing for %s, lag %d: %s%s.",
		l.Partition, quiet.Round(time.Second), lag, doing(in), deliveries(in.Tasks))}
}

// doing is what the tasks do meanwhile.
func doing(in *Input) string {
	counts := make(map[backendv1.TaskStatus_Phase]int)
	held := int64(0)
	for _, s := range in.Tasks {
		counts[s.Phase]++
		held += s.HeldRecords
	}
	text := ""
	for _, phase := range []struct {
		phase backendv1.TaskStatus_Phase
		word  string
	}{
		{backendv1.TaskStatus_PHASE_JOINING, "joining"}, {backendv1.TaskStatus_PHASE_POLLING, "polling"},
		{backendv1.TaskStatus_PHASE_WRITING, "writing"}, {backendv1.TaskStatus_PHASE_COMMITTING, "committing"},
		{backendv1.TaskStatus_PHASE_ACKNOWLEDGING, "acknowledging"}, {backendv1.TaskStatus_PHASE_BACKING_OFF, "backing off"},
		{backendv1.TaskStatus_PHASE_DRAINING, "draining"},
	} {
		if n := counts[phase.phase]; n > 0 {
			text += fmt.Sprintf("%s %s, ", count(n, "task"), phase.word)
		}
	}
	return text + fmt.Sprintf("%s held", count(int(held), "record"))
}
