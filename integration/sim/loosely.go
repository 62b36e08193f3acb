package sim

import (
	"slices"

	"shoal/fe/schedule"
	"shoal/fe/state"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// loosely applies CommitTxns without the rule on numbers, or as if each txn were
// of its task's epoch. What a state keeps of tasks is not to be changed in place:
// here it is, for as long as Apply takes, since that is the rule to be broken.
func (r *replica) loosely(m Mutation, index uint64, c *raftlogv1.Command) state.Result {
	var all state.Result
	for _, req := range c.GetCommitTxns().Txns {
		one := &raftlogv1.Command{AtMs: c.AtMs, Body: &raftlogv1.Command_CommitTxns{
			CommitTxns: &raftlogv1.CommitTxns{Txns: []*frontendv1.CommitTxnRequest{req}},
		}}
		apply := func() { all.Txns = append(all.Txns, r.state.Apply(index, one).Txns...) }
		switch t := r.task(req); {
		case t != nil && m == NoNumbers:
			t.LastEpoch, t.LastNumber = 0, 0
			apply()
		case t != nil && m == NoFence && req.Epoch < t.Epoch:
			r.asOf(req, apply)
		default:
			apply()
		}
	}
	return all
}

// asOf applies a txn while its task is as its own epoch left it.
func (r *replica) asOf(req *frontendv1.CommitTxnRequest, apply func()) {
	ref := schedule.Ref{TaskID: req.TaskId, Epoch: req.Epoch}
	task := r.task(req)
	now := last(task)
	r.older[ref].put(task)
	task.Epoch = req.Epoch
	apply()
	task = r.task(req) // Apply has made another
	r.older[ref] = last(task)
	now.put(task)
}

func (r *replica) task(req *frontendv1.CommitTxnRequest) *raftlogv1.Task {
	tasks := r.state.JobByID(req.JobId).GetTasks()
	if i := slices.IndexFunc(tasks, func(t *raftlogv1.Task) bool { return t.Id == req.TaskId }); i >= 0 {
		return tasks[i]
	}
	return nil
}

// decided is what a task keeps of its last txn.
type decided struct {
	epoch, lastEpoch, number uint64
	digest                   []byte
	answer                   *frontendv1.CommitTxnResponse
}

func last(t *raftlogv1.Task) decided {
	return decided{t.Epoch, t.LastEpoch, t.LastNumber, t.LastDigest, t.LastAnswer}
}

func (d decided) put(t *raftlogv1.Task) {
	t.Epoch, t.LastEpoch, t.LastNumber, t.LastDigest, t.LastAnswer = d.epoch, d.lastEpoch, d.number, d.digest, d.answer
}
