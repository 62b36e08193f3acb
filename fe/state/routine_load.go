package state

import (
	"fmt"
	"slices"

	"shoal/fe/state/catalog"
	"shoal/fe/state/cow"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// createRoutineLoad makes a job that loads into a table that exists, or into
// all tables of a database.
func (s *State) createRoutineLoad(c *raftlogv1.CreateRoutineLoad, atMs int64) (uint64, error) {
	if c.GetJob().GetLoad() == nil {
		return 0, fmt.Errorf("%w: it has nothing to load", jobs.ErrIncomplete)
	}
	def := cow.Copy(c.Job)
	var err error
	if def.DatabaseName, def.TableName, err = s.target(def.DatabaseId, def.TableId, def.Load.MultiTable); err != nil {
		return 0, err
	}
	if err := ledger.CheckStarts(def.Starts); err != nil {
		return 0, err
	}
	return s.jobs.Create(def, c.GroupPrefix, atMs, s.cluster.NextID)
}

// target names what a job loads into; the table is "" for a multi-table job,
// whose table id is 0.
func (s *State) target(databaseID, tableID uint64, multiTable bool) (database, table string, err error) {
	db := s.catalog.DatabaseByID(databaseID)
	switch t := s.catalog.TableByID(tableID); {
	case db == nil && multiTable:
		return "", "", fmt.Errorf("%w: id %d", catalog.ErrNoDatabase, databaseID)
	case multiTable && tableID == 0:
		return db.Name, "", nil
	case multiTable || t == nil || t.DatabaseId != databaseID:
		return "", "", fmt.Errorf("%w: id %d in database %d", catalog.ErrNoTable, tableID, databaseID)
	default:
		return db.Name, t.Name, nil
	}
}

// alterRoutineLoad replaces a job's definition. With starts, or for another
// topic, a new generation of ledgers begins: no epoch that could commit to the
// former is left.
func (s *State) alterRoutineLoad(c *raftlogv1.AlterRoutineLoad, index uint64) error {
	before := s.jobs.ByID(c.GetJobId())
	if before == nil {
		return fmt.Errorf("%w: id %d", jobs.ErrNoJob, c.GetJobId())
	}
	tableID := before.TableId
	if c.TableId != 0 {
		tableID = c.TableId
	}
	_, tableName, err := s.target(before.DatabaseId, tableID, c.Load.GetMultiTable())
	if err != nil {
		return err
	}
	if err := ledger.CheckStarts(c.Starts); err != nil {
		return err
	}
	job, err := s.jobs.Alter(c, tableName, s.cluster.NextID)
	if err != nil {
		return err
	}
	if job.Generation != before.Generation && job.Started {
		s.ledgers.Restart(job.Id, job.Generation, index, c.Starts, c.ReplaceLedgers)
	}
	return nil
}

// startRoutineLoad opens the ledgers of a job whose group is set up.
func (s *State) startRoutineLoad(c *raftlogv1.StartRoutineLoad, index uint64) error {
	if err := ledger.CheckStarts(c.GetStarts()); err != nil {
		return err
	}
	job, err := s.jobs.Start(c)
	if err != nil {
		return err
	}
	s.ledgers.Open(job.Id, job.Generation, index, c.Starts)
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
	lost := s.jobs.Lost(c)
	if err := s.jobs.Schedule(c, atMs, s.cluster.NextID); err != nil {
		return err
	}
	for _, task := range lost {
		for _, partition := range task.Partitions {
			if l := s.ledger(c.JobId, &typesv1.PartitionOffsets{TopicId: task.TopicId, Partition: partition}); l != nil {
				l.Lose(atMs)
			}
		}
	}
	if job := s.jobs.ByID(c.JobId); len(job.Suspects) > 0 && jobs.RepairTask(job) == nil && s.settledAll(job.Id, job.Suspects) {
		s.jobs.Acquit(job.Id)
	}
	return nil
}

// settledAll tells whether nothing of some ranges is left to settle. Where there
// is no ledger there is nothing.
func (s *State) settledAll(jobID uint64, ranges []*typesv1.PartitionRanges) bool {
	return !slices.ContainsFunc(ranges, func(r *typesv1.PartitionRanges) bool {
		key, _ := ledger.KeyOf(r.TopicId, r.Partition)
		l := s.ledgers.Get(jobID, key)
		return l != nil && len(l.View(key).UnsettledOf(r.Ranges)) > 0
	})
}

// removeJob forgets a job with its ledgers: it has no task any more that could
// commit to them.
func (s *State) removeJob(id uint64, e entry) error {
	rowsets := s.jobs.ErrorRowsets(id)
	if err := s.jobs.Remove(id); err != nil {
		return err
	}
	letGo(s, e, rowsets)
	s.ledgers.Drop(id)
	return nil
}

// addLedgers opens ledgers of partitions that appeared after the start.
func (s *State) addLedgers(c *raftlogv1.AddLedgers, index uint64) error {
	job, err := s.loadingJob(c.GetJobId())
	if err != nil {
		return err
	}
	if err := ledger.CheckStarts(c.Starts); err != nil {
		return err
	}
	s.ledgers.Open(job.Id, job.Generation, index, c.Starts)
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
		found[i].SettleRowless(p, index)
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
