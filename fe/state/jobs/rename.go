package jobs

import (
	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// Jobs keep the names of what they load into, for when it is gone.

// TableRenamed gives a table's new name to the jobs that load into it.
func (j *Jobs) TableRenamed(id uint64, name string) {
	j.each(func(job *raftlogv1.Job) bool { return job.TableId == id && !Ended(job.State) },
		func(job *raftlogv1.Job) { job.TableName = name })
}

// DatabaseRenamed gives a database's new name to its jobs.
func (j *Jobs) DatabaseRenamed(id uint64, name string) {
	j.each(func(job *raftlogv1.Job) bool { return job.DatabaseId == id },
		func(job *raftlogv1.Job) { job.DatabaseName = name })
}

// each changes copies of the jobs that it concerns, ordered by id.
func (j *Jobs) each(concerns func(*raftlogv1.Job) bool, change func(*raftlogv1.Job)) {
	for _, job := range j.All() {
		if concerns(job) {
			job = cow.Copy(job)
			change(job)
			j.put(job)
		}
	}
}
