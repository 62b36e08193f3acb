package jobs

import (
	"fmt"
	"slices"

	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// Schedule makes, places, drains and removes tasks; each one that is placed gets
// a new epoch from nextID, and new ones their id. What a task reads is replaced
// by what the command says; what it repairs stays for as long as it is. One that
// drains stays as it is until then. A job that waits for tasks and has one
// becomes RUNNING.
func (j *Jobs) Schedule(c *raftlogv1.ScheduleTasks, atMs int64, nextID func() uint64) error {
	job, err := j.live(c.JobId, raftlogv1.JobState_JOB_STATE_RUNNING)
	if err != nil {
		return err
	}
	switch {
	case !job.Started:
		return fmt.Errorf("%w: %s, id %d", ErrNotStarted, job.Name, job.Id)
	case job.State == raftlogv1.JobState_JOB_STATE_PAUSED:
		return TransitionError{job.State, raftlogv1.JobState_JOB_STATE_RUNNING}
	}
	if err := checkTasks(job, c); err != nil {
		return err
	}
	if err := checkPartitions(job, c); err != nil {
		return err
	}
	if err := checkRepairs(job, c); err != nil {
		return err
	}

	job = cow.Copy(job)
	if task := RepairTask(job); task != nil && slices.Contains(c.LostTaskIds, task.Id) {
		suspect(job, task)
	}
	tasks := slices.DeleteFunc(slices.Clone(job.Tasks), func(t *raftlogv1.Task) bool { return slices.Contains(c.RemoveTaskIds, t.Id) })
	for _, a := range c.Assignments {
		task := &raftlogv1.Task{CreatedMs: atMs}
		if i := taskIndex(tasks, a.TaskId); i >= 0 {
			task = cow.Copy(tasks[i])
			tasks[i] = task
		} else {
			task.Id, task.Repair, task.Poison = nextID(), a.Repair, a.Poison
			tasks = append(tasks, task)
		}
		task.Epoch = nextID()
		task.BackendId, task.MemberId, task.AssignedMs, task.DrainingMs = a.BackendId, a.MemberId, atMs, 0
		task.TopicId, task.Partitions = a.TopicId, a.Partitions
	}
	for i, task := range tasks {
		if slices.Contains(c.DrainTaskIds, task.Id) && task.DrainingMs == 0 {
			tasks[i] = cow.Copy(task)
			tasks[i].DrainingMs = atMs
		}
	}
	job.Tasks = tasks
	if len(tasks) > 0 {
		job.State = raftlogv1.JobState_JOB_STATE_RUNNING
	}
	j.put(job)
	return nil
}

// checkTasks wants every task id to be one of the job's, named once.
func checkTasks(job *raftlogv1.Job, c *raftlogv1.ScheduleTasks) error {
	named := slices.Concat(c.RemoveTaskIds, c.DrainTaskIds)
	for _, a := range c.Assignments {
		if a.TaskId != 0 {
			named = append(named, a.TaskId)
		}
	}
	slices.Sort(named)
	for i, id := range named {
		switch {
		case taskIndex(job.Tasks, id) < 0:
			return fmt.Errorf("%w: id %d in job %s, id %d", ErrNoTask, id, job.Name, job.Id)
		case i > 0 && named[i-1] == id:
			return fmt.Errorf("%w: id %d is named twice", ErrNoTask, id)
		}
	}
	return nil
}

// checkPartitions wants no partition to be read by two tasks. Those without a
// backend read nothing: their epochs were raised.
func checkPartitions(job *raftlogv1.Job, c *raftlogv1.ScheduleTasks) error {
	readers := make(map[int32]bool)
	claim := func(partitions []int32) error {
		for _, p := range partitions {
			if readers[p] {
				return fmt.Errorf("%w: partition %d in job %s, id %d", ErrTwice, p, job.Name, job.Id)
			}
			readers[p] = true
		}
		return nil
	}
	for _, a := range c.Assignments {
		if err := claim(a.Partitions); err != nil {
			return err
		}
	}
	for _, t := range job.Tasks {
		named := slices.ContainsFunc(c.Assignments, func(a *raftlogv1.TaskAssignment) bool { return a.TaskId == t.Id }) || slices.Contains(c.RemoveTaskIds, t.Id)
		if named || t.BackendId == 0 {
			continue
		}
		if err := claim(t.Partitions); err != nil {
			return err
		}
	}
	return nil
}

// taskIndex is where the task of that id is, -1 if nowhere.
func taskIndex(tasks []*raftlogv1.Task, id uint64) int {
	return slices.IndexFunc(tasks, func(t *raftlogv1.Task) bool { return t.Id == id })
}
