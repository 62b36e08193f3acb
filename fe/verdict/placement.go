package verdict

import (
	"fmt"
	"strings"

	"shoal/fe/auditor"
	"shoal/fe/backend"
	"shoal/fe/schedule"
	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// unplaced: no task of the job is on a backend.
func unplaced(in *Input) *Verdict {
	if jobs.Placed(in.Job) > 0 {
		return nil
	}
	alive, unheard := 0, 0
	for _, b := range in.Backends {
		switch {
		case b.Alive:
			alive++
		case b.Unheard:
			unheard++
		}
	}
	takers, slots := taking(in.Backends)
	switch {
	case alive == 0 && unheard > 0:
		return &Verdict{NoBackend, Busy, fmt.Sprintf("Waiting to hear from %s.", count(unheard, "backend"))}
	case alive == 0:
		return &Verdict{NoBackend, Bad, fmt.Sprintf("No backend is alive, of %d known.", len(in.Backends))}
	case takers == 0:
		return &Verdict{NoBackend, Bad, "No backend takes tasks: " + strings.Join(refusals(in.Backends), ", ") + "."}
	case jobs.Classic(in.Job) && (jobs.RepairTask(in.Job) != nil || len(in.Job.Suspects) > 0):
		return &Verdict{Isolating, Warn, "Backends died, one after the other, where this job reads: its tasks wait while the record to blame is looked for in ever smaller parts."}
	case in.SlotsTaken >= slots:
		return noSlot(in, takers, slots)
	case in.View != nil && in.View.Err != nil:
		return nil // brokerAway tells what there is to wait for: without partitions nothing is placed
	}
	return &Verdict{Starting, Busy, "Tasks are being placed."}
}

// noSlot: all slots are taken, which does not matter to a job that has nothing to
// load.
func noSlot(in *Input, takers, slots int) *Verdict {
	if lag, known := Lag(in.Job.Load, in.View, in.Ledgers); known && lag == 0 {
		return &Verdict{Idle, OK, "All loaded; its slot was left to another job, and records get one again."}
	}
	return &Verdict{NoSlot, Warn, fmt.Sprintf("No slot is free: all %d of %s are taken. Jobs take turns of %v; with another backend, or more --slots, all load at a time.",
		slots, count(takers, "backend"), schedule.Turn)}
}

// taking counts the backends that take tasks, and their slots.
func taking(backends []backend.Status) (n, slots int) {
	for _, b := range backends {
		if b.Takes() {
			n++
			slots += b.Slots
		}
	}
	return n, slots
}

// refusals say why backends that are alive take no tasks.
func refusals(backends []backend.Status) (why []string) {
	for _, b := range backends {
		if b.Alive && !b.Takes() {
			why = append(why, refusal(b))
		}
	}
	return why
}

func refusal(b backend.Status) string {
	switch {
	case b.Decommissioning:
		return fmt.Sprintf("backend %d is being decommissioned", b.ID)
	case b.BlackListed != "":
		return fmt.Sprintf("backend %d is on the black list, since %s", b.ID, b.BlackListed)
	}
	return fmt.Sprintf("backend %d is shutting down", b.ID)
}

// placementNotes tell of tasks that found no slot, or wait where they are to
// leave.
func placementNotes(in *Input) (out []string) {
	n, wanted := jobs.Placed(in.Job), wanted(in)
	if takers, slots := taking(in.Backends); n > 0 && n < wanted && takers > 0 && in.SlotsTaken >= slots {
		out = append(out, fmt.Sprintf("%d of %d tasks: all %d slots of %s are taken.", n, wanted, slots, count(takers, "backend")))
	}
	for _, b := range in.Backends {
		if on := placedOn(in.Job, b.ID); b.Alive && !b.Takes() && on > 0 {
			out = append(out, fmt.Sprintf("%s to leave: %s.", count(on, "task"), refusal(b)))
		}
	}
	if in.View != nil && in.View.Err == nil {
		for _, pinned := range in.Job.Load.KafkaPartitions {
			if _, ok := in.View.Partitions[pinned]; !ok {
				out = append(out, fmt.Sprintf("Partition %d of kafka_partitions is not in topic '%s'.", pinned, in.View.Topic.Name))
			}
		}
	}
	return out
}

// wanted is how many tasks the job should have.
func wanted(in *Input) int {
	if in.Wanted > 0 {
		return in.Wanted
	}
	job := schedule.Job{Job: in.Job}
	if in.View != nil {
		for _, p := range in.View.Topic.Partitions {
			if auditor.Reads(in.Job.Load, p) {
				job.Partitions = append(job.Partitions, p)
			}
		}
		job.MaxMembers = in.View.MaxMembers
	}
	limit, _ := schedule.Limit(job)
	return limit
}

func placedOn(job *raftlogv1.Job, backendID uint64) (n int) {
	for _, t := range job.Tasks {
		if t.BackendId == backendID {
			n++
		}
	}
	return n
}
