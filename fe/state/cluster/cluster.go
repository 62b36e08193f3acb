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
	"slices"

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
	// ErrBackendDropped refuses a backend that was dropped by SQL until it is
	// added again.
	ErrBackendDropped = errors.New("the backend was dropped from the cluster")
	// ErrNoBackend is for ids that no backend has.
	ErrNoBackend = errors.New("no such backend")
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

// RegisterBackend adds a backend, or renews what is known of the one with the
// same node_uuid, and returns its id. One that was dropped is refused.
func (s *State) RegisterBackend(b *raftlogv1.Backend, atMs int64) (uint64, error) {
	if b.GetNodeUuid() == "" || b.Host == "" {
		return 0, fmt.Errorf("%w: a backend needs a node uuid and a host", ErrIncomplete)
	}
	b = cow.Copy(b)
	i := slices.IndexFunc(s.backends, func(o *raftlogv1.Backend) bool { return o.NodeUuid == b.NodeUuid })
	if i < 0 {
		b.Id, b.JoinedMs, b.Dropped = s.NextID(), atMs, false
		s.backends = append(slices.Clip(s.backends), b)
		return b.Id, nil
	}
	known := s.backends[i]
	if known.Dropped {
		return 0, fmt.Errorf("%w: backend %d at %s", ErrBackendDropped, known.Id, known.Host)
	}
	b.Id, b.JoinedMs, b.Dropped = known.Id, known.JoinedMs, false
	s.replaceBackend(i, b)
	return b.Id, nil
}

// DropBackend marks a backend as dropped; it stays known, so as to be refused.
func (s *State) DropBackend(id uint64) error {
	i := slices.IndexFunc(s.backends, func(b *raftlogv1.Backend) bool { return b.Id == id })
	if i < 0 {
		return fmt.Errorf("%w: id %d", ErrNoBackend, id)
	}
	b := cow.Copy(s.backends[i])
	b.Dropped = true
	s.replaceBackend(i, b)
	return nil
}

func (s *State) replaceBackend(i int, b *raftlogv1.Backend) {
	s.backends = slices.Clone(s.backends)
	s.backends[i] = b
}

// CheckBackend tells why tasks may not be given to a backend, nil if they may.
func (s *State) CheckBackend(id uint64) error {
	for _, b := range s.backends {
		switch {
		case b.Id != id:
		case b.Dropped:
			return fmt.Errorf("%w: backend %d at %s", ErrBackendDropped, id, b.Host)
		default:
			return nil
		}
	}
	return fmt.Errorf("%w: id %d", ErrNoBackend, id)
}

// Info is the cluster's id, warehouse and incarnation; nil before Bootstrap.
func (s *State) Info() *raftlogv1.Cluster { return s.info }

// Backends are ordered by id, dropped ones included.
func (s *State) Backends() []*raftlogv1.Backend { return s.backends }

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
