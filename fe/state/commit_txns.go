package state

import (
	"fmt"

	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// commitTxns decides each txn by itself, in order: what an earlier one of the
// same entry settled, a later one meets.
func (s *State) commitTxns(c *raftlogv1.CommitTxns, e entry) Result {
	answers := make([]*frontendv1.CommitTxnResponse, len(c.GetTxns()))
	for i, req := range c.GetTxns() {
		answers[i] = s.commitTxn(req, e)
	}
	return Result{Txns: answers}
}

// commitTxn carries out the rules of the design's "The delivery ledger". Up to
// decide nothing moves; from then on the task's last txn does, unless it was
// told to wait.
func (s *State) commitTxn(req *frontendv1.CommitTxnRequest, e entry) *frontendv1.CommitTxnResponse {
	if answer := s.jobs.CheckNumber(req); answer != nil {
		return answer
	}
	d := s.decide(req)
	switch d.answer.Outcome {
	case frontendv1.Outcome_OUTCOME_WAIT:
	case frontendv1.Outcome_OUTCOME_COMMITTED:
		d.answer.TxnId = e.index
		s.settle(req, d, e)
	default:
		s.letGoOf(e, filesOf(req)...)
		for i, p := range d.answer.Conflicts {
			d.ledgers[i].Refuse(p.Loaded)
		}
		if d.pause != 0 {
			s.jobs.RefusedAndPaused(req, d.answer, d.pause, e.atMs)
		} else {
			s.jobs.Refused(req, d.answer)
		}
	}
	return d.answer
}

// A decision is an answer with what follows from it.
type decision struct {
	answer *frontendv1.CommitTxnResponse
	// ledgers belong to the request's partitions when it is COMMITTED, and to
	// the answer's conflicts when it is CONFLICT.
	ledgers []*ledger.Ledger
	// pause is the reason code to pause the job with, 0 to leave it.
	pause int32
}

func refused(outcome frontendv1.Outcome, reason string) decision {
	return decision{answer: &frontendv1.CommitTxnResponse{Outcome: outcome, Reason: reason}}
}

// decide goes through fence, ledger and limits, and changes nothing.
func (s *State) decide(req *frontendv1.CommitTxnRequest) decision {
	if answer := s.jobs.CheckFence(req); answer != nil {
		return decision{answer: answer}
	}
	for _, w := range writes(req) {
		if err := s.catalog.CheckWrite(s.jobs.ByID(req.JobId).DatabaseId, w.TableId, w.SchemaVersion); err != nil {
			return refused(frontendv1.Outcome_OUTCOME_ABORTED, err.Error())
		}
	}
	d := s.judge(req)
	if d.answer.Outcome != frontendv1.Outcome_OUTCOME_COMMITTED {
		return d
	}
	if over := s.jobs.OverLimits(req); over != "" {
		return decision{answer: &frontendv1.CommitTxnResponse{Outcome: frontendv1.Outcome_OUTCOME_ABORTED, Reason: over}, pause: jobs.ReasonTooManyErrors}
	}
	return d
}

// judge asks every partition's ledger. A truncated log outweighs conflicts,
// and these outweigh crowded partitions: a txn that waits is asked again
// unchanged, so it must be one that may pass later.
func (s *State) judge(req *frontendv1.CommitTxnRequest) decision {
	committed := decision{answer: &frontendv1.CommitTxnResponse{Outcome: frontendv1.Outcome_OUTCOME_COMMITTED}}
	conflict := refused(frontendv1.Outcome_OUTCOME_CONFLICT, "offsets are loaded already")
	crowded := ""
	for _, p := range req.Partitions {
		l := s.ledger(req.JobId, p)
		if l == nil {
			return refused(frontendv1.Outcome_OUTCOME_WAIT, fmt.Sprintf("partition %d of topic id %x has no ledger yet", p.Partition, p.TopicId))
		}
		committed.ledgers = append(committed.ledgers, l)
	}
	for i, p := range req.Partitions {
		v := committed.ledgers[i].Check(p)
		switch {
		case v.Diverged != "":
			d := refused(frontendv1.Outcome_OUTCOME_DIVERGED, fmt.Sprintf("the log of partition %d was truncated: %s", p.Partition, v.Diverged))
			d.pause = jobs.ReasonCannotResume
			return d
		case len(v.Conflicts) > 0:
			conflict.ledgers = append(conflict.ledgers, committed.ledgers[i])
			conflict.answer.Conflicts = append(conflict.answer.Conflicts,
				&typesv1.PartitionOffsets{TopicId: p.TopicId, Partition: p.Partition, Loaded: v.Conflicts})
		case v.Wait:
			crowded = fmt.Sprintf("partition %d has %d settled ranges above its settled offset", p.Partition, ledger.MaxRanges)
		}
	}
	switch {
	case len(conflict.ledgers) > 0:
		return conflict
	case crowded != "":
		return refused(frontendv1.Outcome_OUTCOME_WAIT, crowded)
	}
	return committed
}

func (s *State) ledger(jobID uint64, p *typesv1.PartitionOffsets) *ledger.Ledger {
	key, _ := ledger.KeyOf(p.TopicId, p.Partition)
	return s.ledgers.Get(jobID, key)
}

// settle is the last rule: rowsets become visible, offsets are settled,
// counters move. Nothing in it can fail.
func (s *State) settle(req *frontendv1.CommitTxnRequest, d decision, e entry) {
	for i, p := range req.Partitions {
		if req.ErrorRowset != nil || jobs.HasRows(req) {
			d.ledgers[i].Settle(p, e.index)
		} else {
			d.ledgers[i].SettleRowless(p, e.index)
		}
		if s.jobs.IsRepair(req) {
			d.ledgers[i].Repair(p.Loaded)
		}
	}
	for _, w := range writes(req) {
		if w.Rowset != nil {
			s.catalog.AddRowset(&raftlogv1.TableRowset{
				TableId: w.TableId, Rowset: w.Rowset, TxnId: e.index, Label: req.Label,
				JobId: req.JobId, Partitions: req.Partitions,
			})
		}
	}
	dropped := s.jobs.Committed(req, d.answer, e.index)
	s.ledgers.Dropped(dropped)
	letGo(s, e, dropped)
}

// writes is the tables that a txn writes for, each with the schema that its
// rows were made by: one, of which there may be no row, or those of a
// multi-table job that get rows.
func writes(req *frontendv1.CommitTxnRequest) []*frontendv1.TableRows {
	if req.TableId == 0 {
		return req.Tables
	}
	return []*frontendv1.TableRows{{TableId: req.TableId, SchemaVersion: req.SchemaVersion, Rowset: req.Rowset}}
}
