package server

import (
	"errors"
	"net"
	"strconv"

	"shoal/fe/raftstore"
	"shoal/fe/state"
)

// store is the replicated state, as the parts of a frontend see it.
type store struct{ *raftstore.Store }

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
				addr = hostPort(f.Host, f.RpcPort)
			}
		}
	})
	return addr, true
}

func hostPort(host string, port uint32) string {
	return net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10))
}

// portOf is the port of a TCP listener.
func portOf(lis net.Listener) uint32 { return uint32(lis.Addr().(*net.TCPAddr).Port) }
