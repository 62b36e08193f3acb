package removal

import (
	"slices"

	"shoal/fe/state"
	"shoal/internal/rowsetname"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// A Verdict is what a version of the state says of a file. Only Unneeded files
// may be removed; a file that is Unneeded by one version is so by all later ones.
type Verdict int

// Verdicts.
const (
	// Foreign: no txn of this cluster could have named it so.
	Foreign Verdict = iota
	// Ahead: this version does not know of its task or epoch yet, nor of its
	// incarnation.
	Ahead
	// Open: its txn may still commit, or is being written.
	Open
	// Needed: it is a table's or a job's.
	Needed
	// Unneeded: nothing has it, and its txn can never commit.
	Unneeded
)

func (v Verdict) String() string {
	return [...]string{"Foreign", "Ahead", "Open", "Needed", "Unneeded"}[v]
}

// Judge judges files, by their paths in the warehouse, in their order. It takes
// time by the number of rowsets that st has, whatever the number of paths.
func Judge(st *state.State, paths []string) []Verdict {
	verdicts := make([]Verdict, len(paths))
	has := map[string]bool{} // whether st has those whose txn is over
	for i, path := range paths {
		if verdicts[i] = judgeTxn(st, path); verdicts[i] == Unneeded {
			has[path] = false
		}
	}
	if len(has) == 0 {
		return verdicts
	}
	for path := range named(st) {
		if _, asked := has[path]; asked {
			has[path] = true
		}
	}
	for i, path := range paths {
		if has[path] {
			verdicts[i] = Needed
		}
	}
	return verdicts
}

// judgeTxn is what the name of a file says of its txn: Unneeded if that can not
// commit any more, or has.
//
// It says the same as the first rules of a commit, jobs.CheckNumber: a txn with
// another epoch than its task's is fenced, and one with a number up to the last
// decided one is superseded, or answered as then. Neither epochs nor task ids are
// ever given twice and numbers are only raised, so the state never goes back on
// it.
func judgeTxn(st *state.State, path string) Verdict {
	name, ours := rowsetname.Parse(path)
	if !ours {
		return Foreign
	}
	if name.Incarnation > st.ClusterInfo().GetIncarnation() || max(name.Table, name.Job, name.Task, name.Epoch) > st.LastID() {
		return Ahead
	}
	tasks := st.JobByID(name.Job).GetTasks()
	i := slices.IndexFunc(tasks, func(t *raftlogv1.Task) bool { return t.Id == name.Task })
	if i < 0 || tasks[i].Epoch != name.Epoch {
		return Unneeded
	}
	if tasks[i].LastEpoch != name.Epoch || tasks[i].LastNumber < name.Number {
		return Open
	}
	return Unneeded
}

// named yields the files that a version of the state has.
func named(st *state.State) func(yield func(path string) bool) {
	return func(yield func(string) bool) {
		for _, db := range st.Databases() {
			for _, t := range st.Tables(db.Id) {
				for _, r := range st.Rowsets(t.Id) {
					if !yield(r.Rowset.GetPath()) {
						return
					}
				}
			}
		}
		for _, job := range st.Jobs() {
			for _, r := range st.ErrorRowsets(job.Id) {
				if !yield(r.Rowset.GetPath()) {
					return
				}
			}
		}
	}
}
