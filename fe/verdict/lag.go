package verdict

import (
	"shoal/fe/auditor"
	"shoal/fe/kafka"
	"shoal/fe/state/ledger"
	"shoal/internal/offsets"
	typesv1 "shoal/proto/types/v1"
)

// Lag is the offsets of all partitions that the job has yet to load; not known
// while the broker cannot tell of one. view may be nil.
func Lag(load *typesv1.RoutineLoad, view *kafka.View, ledgers []ledger.View) (total int64, known bool) {
	if view == nil || view.Err != nil {
		return 0, false
	}
	byPartition := make(map[int32]ledger.View)
	for _, l := range ledgers {
		if kafka.TopicID(l.TopicID) == view.Topic.ID {
			byPartition[l.Partition] = l
		}
	}
	for id, p := range view.Partitions {
		if !auditor.Reads(load, id) {
			continue
		}
		n, known := PartitionLag(load, byPartition[id], p)
		if !known {
			return 0, false
		}
		total += n
	}
	return total, true
}

// PartitionLag is the offsets of a partition that a job has yet to load, never
// negative. In classic mode it is those from the settled offset to the log's
// end, or to the last stable offset if only committed records are read: what an
// open transaction holds back cannot be loaded. In share mode it is the group's
// own, open transactions included, and no more than is not settled, since the
// ledger may be newer than the look at the group; of a partition that the group has no state
// for, as an empty new one, it is known only if all of the log is settled. The
// zero View is a ledger that is not opened yet.
func PartitionLag(load *typesv1.RoutineLoad, l ledger.View, p kafka.Partition) (n int64, known bool) {
	switch {
	case load.GetMode() == typesv1.RoutineLoad_MODE_CLASSIC:
		return offsets.Of(offsets.Range{First: l.Settled, Last: p.ReadableEnd(load.GetReadUncommitted()) - 1}).Subtract(l.Ranges).Count(), true
	case p.Lag >= 0:
		return min(p.Lag, LogEnd(l, p)-l.Settled-l.Ranges.Count()), true
	case l.Settled >= p.End:
		return 0, true
	}
	return 0, false
}

// LogEnd is where the log of a partition ends. The ledger may be newer than the
// look at the log: what is settled was there.
func LogEnd(l ledger.View, p kafka.Partition) int64 {
	end := max(p.End, l.Settled)
	if n := len(l.Ranges); n > 0 {
		end = max(end, l.Ranges[n-1].Last+1)
	}
	return end
}
