package jobs

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// A record may end its readers. What a repair task was to read when its backend
// died under it is suspect: it is read in smaller parts, of which one will end
// its reader again, until a single offset is left. The search is replicated, so
// that it goes on under the next leader.

// Lost are the tasks whose backends died under them by a command that is about
// to be carried out.
func (j *Jobs) Lost(c *raftlogv1.ScheduleTasks) (lost []*raftlogv1.Task) {
	for _, t := range j.jobs[c.GetJobId()].GetTasks() {
		if slices.Contains(c.LostTaskIds, t.Id) {
			lost = append(lost, t)
		}
	}
	return lost
}

// suspect notes what a repair task had that was lost, in a job that is a copy.
func suspect(job *raftlogv1.Job, task *raftlogv1.Task) {
	same := slices.EqualFunc(job.Suspects, task.Repair, func(a, b *typesv1.PartitionRanges) bool { return proto.Equal(a, b) })
	if !same {
		job.Suspects, job.SuspectLosses = task.Repair, 0
	}
	job.SuspectLosses++
}

// Acquit forgets a job's suspects: all of them are settled.
func (j *Jobs) Acquit(id uint64) {
	job := cow.Copy(j.jobs[id])
	job.Suspects, job.SuspectLosses = nil, 0
	j.put(job)
}
