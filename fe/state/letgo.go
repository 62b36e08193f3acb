package state

import (
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// An entry is the log entry that is being applied, as far as it is no command.
type entry struct {
	index uint64
	atMs  int64
	rules uint32
}

func entryOf(index uint64, cmd *raftlogv1.Command) entry {
	return entry{index, cmd.AtMs, cmd.Rules}
}

// letGoOf lists files as trash that the state does not have any more, or refuses
// to have.
func (s *State) letGoOf(e entry, files ...*typesv1.Rowset) {
	if e.rules < 1 {
		return
	}
	for _, f := range files {
		s.trash.Add(f, e.index, e.atMs)
	}
}

// letGo is letGoOf for what has rowsets.
func letGo[R interface{ GetRowset() *typesv1.Rowset }](s *State, e entry, of []R) {
	for _, r := range of {
		s.letGoOf(e, r.GetRowset())
	}
}

// filesOf is the files of a txn; nil among them is none.
func filesOf(req *frontendv1.CommitTxnRequest) []*typesv1.Rowset {
	files := []*typesv1.Rowset{req.Rowset, req.ErrorRowset}
	for _, t := range req.Tables {
		files = append(files, t.GetRowset())
	}
	return files
}
