package server

import (
	"context"
	"errors"
	"net"

	"shoal/fe/forward"
	"shoal/fe/raftstore"
	"shoal/fe/state"
	"shoal/fe/state/cluster"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// store is the replicated state, as the parts of a frontend see it.
type store struct{ *raftstore.Store }

// Propose is the Store's, and remembers that a statement has proposed something
// which was, or may be, carried out: it is not tried again.
func (s *store) Propose(ctx context.Context, cmd *raftlogv1.Command) (state.Result, error) {
	applied, err := s.Store.Propose(ctx, cmd)
	if _, elsewhere := s.elsewhere(err); !elsewhere {
		forward.Proposed(ctx)
	}
	return applied, err
}

// LeaderID is who leads, empty while nobody is known to.
func (s *store) LeaderID() string {
	id, _ := s.Leader()
	return id
}

// elsewhere tells whether err means that another frontend leads, and that one's
// rpc address, empty when it is not known.
func (s *store) elsewhere(err error) (addr string, is bool) {
	var notLeader *raftstore.NotLeaderError
	if !errors.As(err, &notLeader) {
		return "", false
	}
	s.View(func(st *state.State) {
		for _, f := range st.Frontends() {
			if f.Id == notLeader.LeaderID {
				addr = cluster.Address(f.Host, f.RpcPort)
			}
		}
	})
	return addr, true
}

// portOf is the port of a TCP listener.
func portOf(lis net.Listener) uint32 { return uint32(lis.Addr().(*net.TCPAddr).Port) }
