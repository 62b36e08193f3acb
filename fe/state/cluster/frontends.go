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
	// ErrFrontendDropped refuses a frontend that was dropped by SQL until it is
	// added again, and one whose place another took.
	ErrFrontendDropped = errors.New("the frontend was dropped from the cluster")
	// ErrFrontendExists refuses to add what is there.
	ErrFrontendExists = errors.New("the frontend exists")
	// ErrNoFrontend is for addresses and roles that no frontend has.
	ErrNoFrontend = errors.New("no such frontend")
)

// RegisterFrontend adds a frontend, or renews what is known of it; its role, and
// when it joined, stay as they were. A new one takes its role from AddFrontend,
// or from the one at the same address, whose place it takes. One that was
// dropped is refused.
func (s *State) RegisterFrontend(f *raftlogv1.Frontend, atMs int64) error {
	if f.GetId() == "" || f.Host == "" {
		return fmt.Errorf("%w: a frontend needs an id and a host", ErrIncomplete)
	}
	if err := s.refuse(f); err != nil {
		return err
	}
	f = cow.Copy(f)
	f.Role, f.JoinedMs = raftlogv1.FrontendRole_FRONTEND_ROLE_UNSPECIFIED, atMs
	if i := slices.IndexFunc(s.added, at(f.Host, f.RaftPort)); i >= 0 {
		f.Role = s.added[i].Role
		s.added = without(s.added, i)
	}
	if i := slices.IndexFunc(s.frontends, at(f.Host, f.RaftPort)); i >= 0 && s.frontends[i].Id != f.Id {
		f.Role = s.frontends[i].Role
		s.dropped = append(slices.Clip(s.dropped), &raftlogv1.Frontend{Id: s.frontends[i].Id})
		s.frontends = without(s.frontends, i)
	}
	i, known := slices.BinarySearchFunc(s.frontends, f.Id, func(o *raftlogv1.Frontend, id string) int { return cmp.Compare(o.Id, id) })
	if known {
		f.Role, f.JoinedMs = s.frontends[i].Role, s.frontends[i].JoinedMs
		s.frontends = slices.Clone(s.frontends)
		s.frontends[i] = f
		return nil
	}
	s.frontends = slices.Insert(slices.Clone(s.frontends), i, f)
	return nil
}

// refuse says why a frontend may not be a member, nil if it may.
func (s *State) refuse(f *raftlogv1.Frontend) error {
	for _, d := range s.dropped {
		switch {
		case d.Id == f.Id && d.Host == "":
			return fmt.Errorf("%w: another one took its place at %s; it may join anew with an empty data folder and an address of its own", ErrFrontendDropped, address(f))
		case d.Id == f.Id, at(d.Host, d.RaftPort)(f):
			return fmt.Errorf(`%w: after ALTER SYSTEM ADD FOLLOWER (or OBSERVER) "%s" it may join again, with an empty data folder`, ErrFrontendDropped, address(f))
		}
	}
	return nil
}

// AddFrontend says as what a frontend will join.
func (s *State) AddFrontend(c *raftlogv1.AddFrontend, atMs int64) error {
	f := &raftlogv1.Frontend{Host: c.GetHost(), RaftPort: c.GetRaftPort(), Role: c.GetRole(), JoinedMs: atMs}
	if f.Host == "" || f.RaftPort == 0 || f.Role == raftlogv1.FrontendRole_FRONTEND_ROLE_UNSPECIFIED {
		return fmt.Errorf("%w: a frontend is added by host, raft port and role", ErrIncomplete)
	}
	here := at(f.Host, f.RaftPort)
	if slices.ContainsFunc(s.frontends, here) || slices.ContainsFunc(s.added, here) {
		return fmt.Errorf("%w: %s", ErrFrontendExists, address(f))
	}
	s.added = append(slices.Clip(s.added), f)
	s.dropped = slices.DeleteFunc(slices.Clone(s.dropped), here)
	return nil
}

// DropFrontend takes away what was added or joined at an address, which must
// have the role.
func (s *State) DropFrontend(c *raftlogv1.DropFrontend) error {
	here := func(f *raftlogv1.Frontend) bool { return at(c.GetHost(), c.GetRaftPort())(f) && Role(f) == c.GetRole() }
	gone := &raftlogv1.Frontend{Host: c.GetHost(), RaftPort: c.GetRaftPort()}
	if i := slices.IndexFunc(s.added, here); i >= 0 {
		s.added = without(s.added, i)
	} else if i := slices.IndexFunc(s.frontends, here); i >= 0 {
		gone.Id = s.frontends[i].Id
		s.frontends = without(s.frontends, i)
	} else {
		return fmt.Errorf("%w: %s", ErrNoFrontend, address(gone))
	}
	s.dropped = append(slices.Clip(s.dropped), gone)
	return nil
}

// Role is a frontend's: FOLLOWER where nothing else was said.
func Role(f *raftlogv1.Frontend) raftlogv1.FrontendRole {
	return cmp.Or(f.GetRole(), raftlogv1.FrontendRole_FRONTEND_ROLE_FOLLOWER)
}

// at matches frontends by where they are.
func at(host string, port uint32) func(*raftlogv1.Frontend) bool {
	return func(f *raftlogv1.Frontend) bool { return host != "" && f.Host == host && f.RaftPort == port }
}

func without(all []*raftlogv1.Frontend, i int) []*raftlogv1.Frontend {
	return slices.Delete(slices.Clone(all), i, i+1)
}

func address(f *raftlogv1.Frontend) string {
	return Address(f.Host, f.RaftPort)
}

// Frontends are the members, ordered by id.
func (s *State) Frontends() []*raftlogv1.Frontend { return s.frontends }

// AddedFrontends are those that were added and have not joined yet, by host,
// raft port and role, in the order in which they were added.
func (s *State) AddedFrontends() []*raftlogv1.Frontend { return s.added }

// FrontendDropped tells whether the frontend with this id is refused.
func (s *State) FrontendDropped(id string) bool {
	return slices.ContainsFunc(s.dropped, func(f *raftlogv1.Frontend) bool { return f.Id == id })
}
