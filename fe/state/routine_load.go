package state

import (
	"fmt"

	"shoal/fe/state/catalog"
	"shoal/fe/state/cow"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// createRoutineLoad makes a job that loads into a table that exists.
func (s *State) createRoutineLoad(c *raftlogv1.CreateRoutineLoad, atMs int64) (uint64, error) {
	table := s.catalog.TableByID(c.GetJob().GetTableId())
	if table == nil || table.DatabaseId != c.Job.DatabaseId {
		return 0, fmt.Errorf("%w: id %d in database %d", catalog.ErrNoTable, c.GetJob().GetTableId(), c.GetJob().GetDatabaseId())
	}
	if err := ledger.CheckStarts(c.Job.Starts); err != nil {
		return 0, err
	}
	def := cow.Copy(c.Job)
	def.DatabaseName = s.catalog.DatabaseByID(table.DatabaseId).Name
	def.TableName = table.Name
	return s.jobs.Create(def, c.GroupPrefix, atMs, s.cluster.NextID)
}

// startRoutineLoad opens the ledgers of a job whose group is set up.
func (s *State) startRoutineLoad(c *raftlogv1.StartRoutineLoad) error {
	if err := ledger.CheckStarts(c.GetStarts()); err != nil {
		return err
	}
	job, err := s.jobs.Start(c)
	if err != nil {
		return err
	}
	s.ledgers.Open(job.Id, job.Generation, c.Starts)
	return nil
}

// scheduleTasks places tasks on backends that may have them.
func (s *State) scheduleTasks(c *raftlogv1.ScheduleTasks, atMs int64) error {
	for _, a := range c.GetAssignments() {
		if a.BackendId == 0 {
			continue
		}
		if err := s.cluster.CheckBackend(a.BackendId); err != nil {
			return err
		}
	}
	return s.jobs.Schedule(c, atMs, s.cluster.NextID)
}

// removeJob forgets a job with its ledgers: it has no task any more that could
// commit to them.
func (s *State) removeJob(id uint64) error {
	if err := s.jobs.Remove(id); err != nil {
		return err
	}
	s.ledgers.Drop(id)
	return nil
}

// addLedgers opens ledgers of partitions that appeared after the start.
func (s *State) addLedgers(c *raftlogv1.AddLedgers) error {
	job, err := s.loadingJob(c.GetJobId())
	if err != nil {
		return err
	}
	if err := ledger.CheckStarts(c.Starts); err != nil {
		return err
	}
	s.ledgers.Open(job.Id, job.Generation, c.Starts)
	return nil
}

// settleOffsets settles what the auditor proved to be void or expired. It is
// all or nothing, so that what the auditor believes of a job is checked as a
// whole.
func (s *State) settleOffsets(c *raftlogv1.SettleOffsets, index uint64) error {
	job, err := s.loadingJob(c.GetJobId())
	if err != nil {
		return err
	}
	if c.Generation != job.Generation {
		return fmt.Errorf("%w: job %s loads generation %d, not %d", jobs.ErrMovedOn, job.Name, job.Generation, c.Generation)
	}
	found := make([]*ledger.Ledger, len(c.Partitions))
	for i, p := range c.Partitions {
		if err := ledger.Validate(p); err != nil {
			return err
		}
		key, _ := ledger.KeyOf(p.TopicId, p.Partition)
		found[i] = s.ledgers.Get(job.Id, key)
		if found[i] == nil || len(p.Loaded) > 0 {
			return fmt.Errorf("%w: partition %d of topic id %x has no ledger, or an audit would load it", ledger.ErrMalformed, p.Partition, p.TopicId)
		}
	}
	for i, p := range c.Partitions {
		found[i].Settle(p, index)
	}
	return nil
}

// forgetVoids forgets what no open txn can turn into loaded any more.
func (s *State) forgetVoids(c *raftlogv1.ForgetVoids) error {
	job, err := s.loadingJob(c.GetJobId())
	if err != nil {
		return err
	}
	s.ledgers.Forget(job.Id, c.ThroughIndex)
	return nil
}

// loadingJob is the job of that id, if it has ledgers.
func (s *State) loadingJob(id uint64) (*raftlogv1.Job, error) {
	job := s.jobs.ByID(id)
	switch {
	case job == nil:
		return nil, fmt.Errorf("%w: id %d", jobs.ErrNoJob, id)
	case !job.Started:
		return nil, fmt.Errorf("%w: %s, id %d", jobs.ErrNotStarted, job.Name, id)
	}
	return job, nil
}
