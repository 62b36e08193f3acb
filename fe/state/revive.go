package state

// Revive makes of a saved state that of a new incarnation of its cluster, which
// must be a higher one than any before. Of the old one nothing can take part any
// more: its leaders are refused by their incarnation, its tasks by their epochs,
// its frontends have to join anew. Ids go on where the old incarnation never
// came. Jobs that loaded are PAUSED until the leader resumes them by itself,
// which pins their share groups at the settled offsets: what was loaded after the
// state was saved comes again.
func (s *State) Revive(incarnation uint64, atMs int64, reason string) {
	s.cluster.Revive(incarnation)
	s.jobs.Revive(atMs, reason, s.cluster.NextID)
}
