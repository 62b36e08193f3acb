package verdict

import (
	"fmt"
	"strings"

	"shoal/fe/auditor"
	"shoal/fe/kafka"
	"shoal/fe/state/jobs"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// notes are sentences to add to a job that should load: what it had to do
// without, and what was lost.
func notes(in *Input) string {
	var out []string
	for _, note := range []func(*Input) []string{setupNotes, placementNotes, ledgerNotes} {
		out = append(out, note(in)...)
	}
	if limit := in.Job.Load.MaxErrorNumber; limit > 0 && in.Job.WindowErrors*10 > limit*8 {
		out = append(out, fmt.Sprintf("%d error rows of %d allowed in this window.", in.Job.WindowErrors, limit))
	}
	if len(out) == 0 {
		return ""
	}
	return " " + strings.Join(out, " ")
}

// setupNotes tell how the job came to run.
func setupNotes(in *Input) (out []string) {
	if in.Job.StartNote != "" && !jobs.Classic(in.Job) {
		out = append(out, "Note: "+in.Job.StartNote+".")
	}
	if in.Job.AutoResumes > 0 {
		out = append(out, fmt.Sprintf("Resumed by itself at %s, which was try %d in a row, from: %s.",
			in.clock(in.Job.AutoResumedMs), in.Job.AutoResumes, strings.TrimSuffix(in.Job.LastReason, ".")))
	}
	if in.Pinned.Failure != "" {
		return append(out, fmt.Sprintf("The share group stands still at %s, and could not be pinned again at %s, which is tried again: %s.",
			in.Pinned.Why, in.clock(in.Pinned.At.UnixMilli()), in.Pinned.Failure))
	}
	if !in.Pinned.At.IsZero() && !in.Pinned.Running {
		out = append(out, fmt.Sprintf("Pinned again at %s, since the share group stood still at %s.", in.clock(in.Pinned.At.UnixMilli()), in.Pinned.Why))
	}
	return out
}

// ledgerNotes tell of records that never became rows.
func ledgerNotes(in *Input) (out []string) {
	for _, l := range in.Ledgers {
		if l.Expired > 0 {
			out = append(out, fmt.Sprintf("%s of partition %d expired before they were loaded.", count(int(l.Expired), "offset"), l.Partition))
		}
		if n := l.Skipped.Count(); n > 0 {
			out = append(out, fmt.Sprintf("ALTER passed over %s of partition %d: %v.", count(int(n), "offset"), l.Partition, l.Skipped))
		}
		if in.View != nil && in.View.Err == nil && kafka.TopicID(l.TopicID) != in.View.Topic.ID && l.Partition == 0 {
			out = append(out, fmt.Sprintf("The topic was created again: id %v is read now, %v before.", in.View.Topic.ID, kafka.TopicID(l.TopicID)))
		}
	}
	return out
}

// repairNote tells of records that the share group gave up: those that are read
// again now, by one of tasks, and those that were.
func repairNote(in *Input, tasks []*backendv1.TaskStatus) (text string) {
	if task := jobs.RepairTask(in.Job); task != nil {
		var n int64
		for _, p := range task.Repair {
			for _, r := range p.Ranges {
				n += r.Last - r.First + 1
			}
		}
		why := "The share group will not deliver %s again, past its delivery limit or start offset"
		if jobs.Classic(in.Job) || len(in.Job.Suspects) > 0 {
			why = "Backends died while they read %s, of which one may have ended them"
		}
		text = fmt.Sprintf(" "+why+": a repair task reads them.", count(int(n), "offset"))
		for _, s := range current([]*raftlogv1.Task{task}, tasks) {
			if s.Trouble != "" {
				text += " It has trouble: " + strings.TrimSuffix(s.Trouble, ".") + "."
			}
		}
	}
	if in.Job.Repaired > 0 {
		text += fmt.Sprintf(" Repair loaded %s that the share group had given up.", count(int(in.Job.Repaired), "record"))
	}
	return text
}

// openTransactions tells where records wait for their producer, which read
// committed leaves out of the lag.
func openTransactions(in *Input) string {
	if !jobs.Classic(in.Job) || in.Job.Load.ReadUncommitted {
		return ""
	}
	for _, id := range in.View.Topic.Partitions {
		if p := in.View.Partitions[id]; auditor.Reads(in.Job.Load, id) && p.StableEnd < p.End {
			return fmt.Sprintf(" Partition %d has %s that wait for a transaction of their producer, open since offset %d.",
				id, count(int(p.End-p.StableEnd), "offset"), p.StableEnd)
		}
	}
	return ""
}

// letterNote tells of dead letters that could not be delivered, in every state.
func letterNote(in *Input) string {
	if in.Letters.Trouble == "" {
		return ""
	}
	return fmt.Sprintf(" Dead letters (error rowsets: %d) wait for topic '%s', which is tried again: %s.",
		in.Letters.Rowsets, in.Job.Load.DeadLetterTopic, strings.TrimSuffix(in.Letters.Trouble, "."))
}
