package sim

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"shoal/be/source"
	"shoal/be/task"
	"shoal/fe/kafka"
	"shoal/fe/state"
	"shoal/integration/sim/raftmodel"
	"shoal/internal/offsets"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// A Mutation is a fault of design that is put around the code under test, to
// see that the checker finds it.
type Mutation int

const (
	None Mutation = iota
	// NoConflicts: the frontend loads what is loaded already.
	NoConflicts
	// SplitApply: a rowset becomes visible before its ranges, and the leader is
	// replaced in between.
	SplitApply
	// SnapshotWithoutRanges: what is settled above the settled offset is lost
	// by a restart.
	SnapshotWithoutRanges
	// AcceptFirst: the task acknowledges what it fetched before it commits.
	AcceptFirst
	// BridgeHoles: a txn claims everything from its first to its last offset.
	BridgeHoles
	// VoidUnread: the auditor takes for void what it did not read.
	VoidUnread
	// NoAudit: nothing that will not come again is ever settled.
	NoAudit
	// OverwriteFiles: a name that exists is written again, though a process
	// that started again may run an epoch once more.
	OverwriteFiles
	// NoPinAgain: a group that stands still is left so.
	NoPinAgain
	// AcceptConflicts: a conflict is taken for done, everything is accepted.
	AcceptConflicts
	// NoRewind: a classic task does not read again what it released.
	NoRewind
	// NoRepair: what the group has given up nobody reads again.
	NoRepair
	// VoidBeyondEnd: the auditor takes for void what lies behind the log's end.
	VoidBeyondEnd
	// UnsyncedFiles: a txn is committed before its files are durable.
	UnsyncedFiles
	// DeleteRefused: a backend deletes the files of a txn that was refused.
	DeleteRefused
	// NoFence: a task's older epochs may commit.
	NoFence
	// NoNumbers: what was decided is decided again when it is asked again.
	NoNumbers
	// UnsyncedLog: a frontend says that it has entries before its disk has them.
	UnsyncedLog
	// BlindVotes: a frontend votes for whoever asks.
	BlindVotes
	// ForgottenVotes: a frontend votes twice in a term when it restarts.
	ForgottenVotes
)

// raft is the rules of Raft that are broken.
func (m Mutation) raft() raftmodel.Rules {
	return raftmodel.Rules{AnswersUnsynced: m == UnsyncedLog, VotesBlindly: m == BlindVotes, ForgetsVotes: m == ForgottenVotes}
}

// shows has a rowset be visible, whatever the state says.
func (s *Sim) shows(r *typesv1.Rowset) {
	known := slices.ContainsFunc(s.extra, func(x *raftlogv1.TableRowset) bool { return x.Rowset.Path == r.GetPath() })
	if r != nil && !known {
		s.extra = append(s.extra, &raftlogv1.TableRowset{Rowset: r})
	}
}

// split tells whether an entry is the last that its leader brought through,
// which the next one finds half done.
func (s *Sim) split(index, term uint64) bool {
	if !s.check.seen(index) && term < s.check.term {
		s.halves[index] = true
	}
	return s.halves[index]
}

// apply applies a command to f's replica, wrongly.
func (m Mutation) apply(f *frontend, index, term uint64, c *raftlogv1.Command) state.Result {
	st := f.replica.state
	commits := c.GetCommitTxns()
	switch {
	case commits == nil:
	case m == SplitApply && f.s.split(index, term):
		for _, req := range commits.Txns {
			f.s.shows(req.Rowset)
		}
		return state.Result{Txns: make([]*frontendv1.CommitTxnResponse, len(commits.Txns))}
	case m == NoFence || m == NoNumbers:
		return f.replica.loosely(m, index, c)
	}
	r := st.Apply(index, c)
	for i, answer := range r.Txns {
		if m == NoConflicts && answer.Outcome == frontendv1.Outcome_OUTCOME_CONFLICT {
			f.s.shows(commits.Txns[i].Rowset)
			r.Txns[i] = &frontendv1.CommitTxnResponse{Outcome: frontendv1.Outcome_OUTCOME_COMMITTED}
		}
	}
	return r
}

// snapshot is what a restart reads of the one that was saved.
func (m Mutation) snapshot(saved []byte) []byte {
	if m != SnapshotWithoutRanges {
		return saved
	}
	in, out := bytes.NewReader(saved), &bytes.Buffer{}
	var header raftlogv1.SnapshotHeader
	check(protodelim.UnmarshalFrom(in, &header))
	write(out, &header)
	for {
		var r raftlogv1.SnapshotRecord
		if err := protodelim.UnmarshalFrom(in, &r); err == io.EOF {
			return out.Bytes()
		} else {
			check(err)
		}
		if l := r.GetLedger(); l != nil {
			l.Ranges, l.Voids = nil, nil
		}
		write(out, &r)
	}
}

func write(w io.Writer, m proto.Message) {
	_, err := protodelim.MarshalTo(w, m)
	check(err)
}

func check(err error) {
	if err != nil {
		panic(fmt.Sprintf("sim: %v", err))
	}
}

// request is what reaches the frontend of a CommitTxn.
func (m Mutation) request(req *frontendv1.CommitTxnRequest) *frontendv1.CommitTxnRequest {
	if m != BridgeHoles {
		return req
	}
	req = proto.CloneOf(req)
	for _, p := range req.Partitions {
		if n := len(p.Loaded); n > 1 {
			p.Void = append(p.Void, bridged(p)...)
		}
	}
	return req
}

// answer is what reaches the task of the frontend's answer.
func (m Mutation) answer(s *Sim, req *frontendv1.CommitTxnRequest, a *frontendv1.CommitTxnResponse) *frontendv1.CommitTxnResponse {
	refused := a.Outcome != frontendv1.Outcome_OUTCOME_COMMITTED && a.Outcome != frontendv1.Outcome_OUTCOME_WAIT
	if m == DeleteRefused && refused {
		delete(s.files, req.Rowset.GetPath())
		delete(s.files, req.ErrorRowset.GetPath())
	}
	if m == AcceptConflicts && a.Outcome == frontendv1.Outcome_OUTCOME_CONFLICT {
		return &frontendv1.CommitTxnResponse{Outcome: frontendv1.Outcome_OUTCOME_COMMITTED}
	}
	return a
}

// bridged is the holes between the first and the last offset of p.
func bridged(p *typesv1.PartitionOffsets) []*typesv1.OffsetRange {
	var have offsets.Set
	for _, r := range p.Loaded {
		have = have.Union(offsets.Of(offsets.Range{First: r.First, Last: r.Last}))
	}
	for _, r := range p.Void {
		have = have.Union(offsets.Of(offsets.Range{First: r.First, Last: r.Last}))
	}
	return ranges(offsets.Of(offsets.Range{First: have[0].First, Last: have[len(have)-1].Last}).Subtract(have))
}

// log is what the auditor sees of a log.
func (m Mutation) log(log kafka.Log) kafka.Log {
	if m == VoidBeyondEnd {
		log.End += 3
		log.StableEnd = log.End
	}
	return log
}

// probed is what reaches the auditor of a probe.
func (m Mutation) probed(p probe, ask offsets.Set) probe {
	switch m {
	case VoidBeyondEnd:
		p.void = p.void.Union(ask.Subtract(p.held).Subtract(p.expired))
	case NoAudit:
		return probe{}
	case VoidUnread:
		p.void = p.void.Union(p.held)
	}
	return p
}

// leavesBlocked tells whether nobody pins a group again that stands still.
func (m Mutation) leavesBlocked() bool { return m == NoPinAgain }

// source is what a task fetches from.
func (m Mutation) source(of *member) task.Source {
	if m != AcceptFirst {
		return of
	}
	return &hasty{of}
}

// hasty accepts whatever it fetched.
type hasty struct{ *member }

func (h *hasty) Fetch(ctx context.Context, limits source.Limits) (source.Fetch, error) {
	f, err := h.member.Fetch(ctx, limits)
	for i := range f.Partitions {
		h.QueueAcks(source.Acks(f.Partitions[i].ID(), f.Partitions[i].Acquired, source.Accept))
	}
	return f, err
}

// reader is what a classic task fetches from.
func (m Mutation) reader(of *reader) task.Source {
	if m != NoRewind {
		return of
	}
	return forgetful{of}
}

// forgetful never goes back.
type forgetful struct{ *reader }

func (f forgetful) QueueAcks([]source.Ack) {}

func (f forgetful) Acknowledge(_ context.Context, acks []source.Ack) ([]source.AckResult, time.Time) {
	return outcomes(acks, source.Applied, nil), time.Time{}
}
