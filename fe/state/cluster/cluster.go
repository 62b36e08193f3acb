// Package cluster is the part of the replicated state that says who the
// cluster is: its id and warehouse, its frontends and backends, and the
// counter that every id comes from.
//
// A State is empty until Bootstrap. Ids and task epochs come from one counter
// that only rises; the incarnation is raised when a cluster is restored from a
// saved snapshot, and the counter with it, so that nothing is ever named like
// something that the snapshot did not know. Messages that readers get are
// replaced and never changed. Pure, like all of the replicated state.
package cluster

import (
	"errors"
	"fmt"

	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// firstID is where the counter begins; ids below are left for what the system
// itself may need, as in Doris.
const firstID = 10_000

var (
	// ErrBootstrapped refuses to bootstrap a cluster that exists.
	ErrBootstrapped = errors.New("the cluster is bootstrapped already")
	// ErrNotBootstrapped refuses everything before Bootstrap.
	ErrNotBootstrapped = errors.New("the cluster is not bootstrapped")
	// ErrIncomplete refuses nodes and clusters that lack what names them.
	ErrIncomplete = errors.New("incomplete description")
)

// State is who the cluster is. The zero State is not bootstrapped.
type State struct {
	// info has only the cluster's id, warehouse and incarnation.
	info      *raftlogv1.Cluster
	lastID    uint64
	frontends []*raftlogv1.Frontend // ordered by id
	added     []*raftlogv1.Frontend // have not joined yet
	dropped   []*raftlogv1.Frontend // are refused
	backends  []*raftlogv1.Backend  // ordered by id
}

// Bootstrap makes the cluster, once.
func (s *State) Bootstrap(c *raftlogv1.Bootstrap) error {
	switch {
	case s.info != nil:
		return fmt.Errorf("%w: its id is %s", ErrBootstrapped, s.info.ClusterId)
	case c.ClusterId == "" || c.Warehouse == "":
		return fmt.Errorf("%w: a cluster needs an id and a warehouse", ErrIncomplete)
	}
	s.info = &raftlogv1.Cluster{ClusterId: c.ClusterId, Warehouse: c.Warehouse, Incarnation: 1}
	s.lastID = firstID
	return nil
}

// Bootstrapped tells whether there is a cluster.
func (s *State) Bootstrapped() bool { return s.info != nil }

// NextID takes an id from the counter. Ids are never given twice.
func (s *State) NextID() uint64 {
	s.lastID++
	return s.lastID
}

// LastID is the id that NextID returned last.
func (s *State) LastID() uint64 { return s.lastID }

// idsPerSecond is how many ids an incarnation that began at a second may give
// until a later one could begin below them.
const idsPerSecond = 1 << 20

// Revive begins an incarnation, which is a time in seconds since 1970 or higher
// than that of the last one. The counter goes on where no earlier incarnation
// came to, whatever it did after the state was saved. The frontends are forgotten:
// they join anew.
func (s *State) Revive(incarnation uint64) {
	s.info = cow.Copy(s.info)
	s.info.Incarnation = incarnation
	s.lastID = max(s.lastID+idsPerSecond, incarnation*idsPerSecond)
	s.frontends, s.added, s.dropped = nil, nil, nil
}

// Info is the cluster's id, warehouse and incarnation; nil before Bootstrap.
func (s *State) Info() *raftlogv1.Cluster { return s.info }

// Record is s as snapshots keep it; nil before Bootstrap.
func (s *State) Record() *raftlogv1.Cluster {
	if s.info == nil {
		return nil
	}
	r := cow.Copy(s.info)
	r.LastId, r.Frontends, r.AddedFrontends, r.DroppedFrontends, r.Backends = s.lastID, s.frontends, s.added, s.dropped, s.backends
	return r
}

// Restore makes s what a snapshot says. An error says what in it can't be true.
func (s *State) Restore(r *raftlogv1.Cluster) error {
	if s.info != nil {
		return errors.New("the cluster is there twice")
	}
	for i, f := range r.Frontends {
		if i > 0 && f.Id <= r.Frontends[i-1].Id {
			return fmt.Errorf("frontend %q is out of order", f.Id)
		}
	}
	for i, b := range r.Backends {
		if b.Id > r.LastId || i > 0 && b.Id <= r.Backends[i-1].Id {
			return fmt.Errorf("backend %d is out of order", b.Id)
		}
	}
	s.lastID, s.frontends, s.added, s.dropped, s.backends = r.LastId, r.Frontends, r.AddedFrontends, r.DroppedFrontends, r.Backends
	s.info = &raftlogv1.Cluster{ClusterId: r.ClusterId, Warehouse: r.Warehouse, Incarnation: r.Incarnation}
	return nil
}
