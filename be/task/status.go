package task

import (
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	backendv1 "shoal/proto/backend/v1"
)

// status is the TaskStatus that heartbeats take, written by the loop and its
// child.
type status struct {
	mu  sync.Mutex
	now *backendv1.TaskStatus // under mu
	// unanswered: a CommitTxn was given up without an answer and may still be
	// applied, until a later one is decided. Under mu.
	unanswered bool
}

func (s *status) init(spec *backendv1.TaskSpec, member string, now time.Time) {
	s.now = &backendv1.TaskStatus{
		Task:      &backendv1.TaskRef{TaskId: spec.TaskId, Epoch: spec.Epoch},
		JobId:     spec.JobId,
		Phase:     backendv1.TaskStatus_PHASE_JOINING,
		MemberId:  member,
		StartedMs: now.UnixMilli(),
	}
}

func (s *status) snapshot(assigned int) *backendv1.TaskStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := proto.CloneOf(s.now)
	out.AssignedPartitions = int32(assigned)
	if assigned == 0 && out.Phase == backendv1.TaskStatus_PHASE_POLLING {
		out.Phase = backendv1.TaskStatus_PHASE_JOINING
	}
	return out
}

func (s *status) set(f func(*backendv1.TaskStatus)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.now)
}

func (s *status) phase(p backendv1.TaskStatus_Phase) {
	s.set(func(now *backendv1.TaskStatus) { now.Phase = p })
}

// polling opens a txn. Whatever is acquired from now on cannot have been void
// at index, unless an earlier CommitTxn is still on its way.
func (s *status) polling(index uint64, at time.Time) {
	s.set(func(now *backendv1.TaskStatus) {
		now.Phase = backendv1.TaskStatus_PHASE_POLLING
		now.LastPollMs = at.UnixMilli()
		now.HeldRecords = 0
		if !s.unanswered {
			now.OpenNumber = 0
			now.OpenIndex = index
		}
	})
}

func (s *status) delivered(count int16) {
	s.set(func(now *backendv1.TaskStatus) { now.MaxDeliveries = max(now.MaxDeliveries, int32(count)) })
}

func (s *status) records(at time.Time) {
	s.set(func(now *backendv1.TaskStatus) { now.LastRecordsMs = at.UnixMilli() })
}

func (s *status) hold(records int) {
	s.set(func(now *backendv1.TaskStatus) { now.HeldRecords = int64(records) })
}

func (s *status) writing(number uint64) {
	s.set(func(now *backendv1.TaskStatus) {
		now.Phase = backendv1.TaskStatus_PHASE_WRITING
		now.OpenNumber = number
	})
}

func (s *status) committing() {
	s.set(func(now *backendv1.TaskStatus) {
		now.Phase = backendv1.TaskStatus_PHASE_COMMITTING
		s.unanswered = true
	})
}

// answered: the last CommitTxn was decided, and with it all before it.
func (s *status) answered() {
	s.set(func(*backendv1.TaskStatus) { s.unanswered = false })
}

func (s *status) committed(at time.Time) {
	s.set(func(now *backendv1.TaskStatus) {
		now.Phase = backendv1.TaskStatus_PHASE_ACKNOWLEDGING
		now.LastCommitMs = at.UnixMilli()
		now.CommittedTxns++
	})
	s.recovered(backendv1.TroubleKind_TROUBLE_KIND_WAREHOUSE, backendv1.TroubleKind_TROUBLE_KIND_FRONTEND,
		backendv1.TroubleKind_TROUBLE_KIND_REFUSED, backendv1.TroubleKind_TROUBLE_KIND_INTERNAL)
}

func (s *status) aborted() {
	s.set(func(now *backendv1.TaskStatus) { now.AbortedTxns++ })
}

func (s *status) trouble(kind backendv1.TroubleKind, text string) {
	s.set(func(now *backendv1.TaskStatus) { now.Trouble, now.TroubleKind = text, kind })
}

// recovered clears trouble of these kinds.
func (s *status) recovered(kinds ...backendv1.TroubleKind) {
	s.set(func(now *backendv1.TaskStatus) {
		if slices.Contains(kinds, now.TroubleKind) {
			now.Trouble, now.TroubleKind = "", backendv1.TroubleKind_TROUBLE_KIND_UNSPECIFIED
		}
	})
}

func (s *status) end() {
	s.set(func(now *backendv1.TaskStatus) {
		now.Ended = true
		now.HeldRecords = 0
	})
}
