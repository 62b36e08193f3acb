package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"shoal/fe/state/cow"
	raftlogv1 "shoal/proto/raftlog/v1"
)

var (
	// ErrBackendDropped refuses a backend that was dropped by SQL until it is
	// added again.
	ErrBackendDropped = errors.New("the backend was dropped from the cluster")
	// ErrNoBackend is for ids that no backend has.
	ErrNoBackend = errors.New("no such backend")
	// ErrBackendExists refuses to add what is there.
	ErrBackendExists = errors.New("the backend exists")
	// ErrBackendBusy refuses to drop a backend that has tasks.
	ErrBackendBusy = errors.New("the backend has tasks")
	// ErrNotDecommissioning refuses to end a decommissioning that was cancelled.
	ErrNotDecommissioning = errors.New("the backend is not being decommissioned")
)

// RegisterBackend adds a backend, or renews what is known of the one with the
// same node_uuid, and returns its id. By address it also takes the place of what
// is known at its host and rpc port: of one that was added and never came, with
// its id; or of one whose data folder was emptied, whose id is then nobody's.
// One that was dropped is refused.
func (s *State) RegisterBackend(c *raftlogv1.RegisterBackend, atMs int64) (uint64, error) {
	b := cow.Copy(c.GetBackend())
	if b.GetNodeUuid() == "" || b.Host == "" {
		return 0, fmt.Errorf("%w: a backend needs a node uuid and a host", ErrIncomplete)
	}
	known := s.find(func(o *raftlogv1.Backend) bool { return o.NodeUuid == b.NodeUuid })
	var there *raftlogv1.Backend
	if c.ByAddress {
		there = s.find(func(o *raftlogv1.Backend) bool { return o != known && o.Host == b.Host && o.RpcPort == b.RpcPort })
	}
	b.Dropped, b.Decommissioning = false, false
	switch {
	case known != nil && !known.Dropped:
		b.Id, b.JoinedMs, b.Decommissioning = known.Id, known.JoinedMs, known.Decommissioning
	case there != nil && !there.Dropped && there.NodeUuid == "":
		b.Id, b.JoinedMs, b.Decommissioning = there.Id, there.JoinedMs, there.Decommissioning
	case known != nil:
		return 0, backendDropped(known)
	case there != nil && there.Dropped:
		return 0, backendDropped(there)
	default:
		b.Id, b.JoinedMs = s.NextID(), atMs
	}
	s.backends = slices.DeleteFunc(slices.Clone(s.backends), func(o *raftlogv1.Backend) bool { return o == known || o == there })
	i, _ := slices.BinarySearchFunc(s.backends, b.Id, func(o *raftlogv1.Backend, id uint64) int { return cmp.Compare(o.Id, id) })
	s.backends = slices.Insert(s.backends, i, b)
	return b.Id, nil
}

// AddBackend makes a backend known before it comes, or lets one that was
// dropped come back, and returns its id.
func (s *State) AddBackend(c *raftlogv1.AddBackend, atMs int64) (uint64, error) {
	if c.GetHost() == "" || c.RpcPort == 0 {
		return 0, fmt.Errorf("%w: a backend is added by its host and rpc port", ErrIncomplete)
	}
	there := s.find(func(o *raftlogv1.Backend) bool { return o.Host == c.Host && o.RpcPort == c.RpcPort })
	switch {
	case there == nil:
		b := &raftlogv1.Backend{Id: s.NextID(), Host: c.Host, RpcPort: c.RpcPort, JoinedMs: atMs}
		s.backends = append(slices.Clip(s.backends), b)
		return b.Id, nil
	case !there.Dropped:
		return 0, fmt.Errorf("%w: %d at %s", ErrBackendExists, there.Id, Address(there.Host, there.RpcPort))
	}
	s.changeBackend(there, func(b *raftlogv1.Backend) { b.Dropped, b.Decommissioning = false, false })
	return there.Id, nil
}

// DecommissionBackend begins to take a backend out of use, or ends that before
// it is done. Doing it again changes nothing.
func (s *State) DecommissionBackend(c *raftlogv1.DecommissionBackend) error {
	if err := s.CheckBackend(c.GetBackendId()); err != nil {
		return err
	}
	s.changeBackend(s.backend(c.BackendId), func(b *raftlogv1.Backend) { b.Decommissioning = !c.Cancel })
	return nil
}

// DropBackend marks a backend as dropped; it stays known, so as to be refused.
// busy tells whether tasks have it.
func (s *State) DropBackend(c *raftlogv1.DropBackend, busy bool) error {
	b := s.backend(c.GetBackendId())
	switch {
	case b == nil:
		return fmt.Errorf("%w: id %d", ErrNoBackend, c.GetBackendId())
	case c.Decommissioned && !b.Decommissioning:
		return fmt.Errorf("%w: id %d", ErrNotDecommissioning, b.Id)
	case c.Idle && busy:
		return fmt.Errorf("%w: id %d", ErrBackendBusy, b.Id)
	}
	s.changeBackend(b, func(b *raftlogv1.Backend) { b.Dropped, b.Decommissioning = true, false })
	return nil
}

// CheckBackend tells why tasks may not be given to a backend, nil if they may.
// That it is being decommissioned is no reason here: who decides where tasks run
// may not have heard of it yet.
func (s *State) CheckBackend(id uint64) error {
	b := s.backend(id)
	switch {
	case b == nil:
		return fmt.Errorf("%w: id %d", ErrNoBackend, id)
	case b.Dropped:
		return backendDropped(b)
	}
	return nil
}

func backendDropped(b *raftlogv1.Backend) error {
	return fmt.Errorf(`%w: ALTER SYSTEM ADD BACKEND "%s" lets backend %d come back`, ErrBackendDropped, Address(b.Host, b.RpcPort), b.Id)
}

// Backends are ordered by id, dropped ones included.
func (s *State) Backends() []*raftlogv1.Backend { return s.backends }

// backend is the one with that id, nil if there is none.
func (s *State) backend(id uint64) *raftlogv1.Backend {
	return s.find(func(b *raftlogv1.Backend) bool { return b.Id == id })
}

func (s *State) find(match func(*raftlogv1.Backend) bool) *raftlogv1.Backend {
	if i := slices.IndexFunc(s.backends, match); i >= 0 {
		return s.backends[i]
	}
	return nil
}

func (s *State) changeBackend(b *raftlogv1.Backend, change func(*raftlogv1.Backend)) {
	i := slices.Index(s.backends, b)
	s.backends = slices.Clone(s.backends)
	s.backends[i] = cow.Copy(b)
	change(s.backends[i])
}
