package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state/cluster"
	raftlogv1 "shoal/proto/raftlog/v1"
)

const (
	follower = raftlogv1.FrontendRole_FRONTEND_ROLE_FOLLOWER
	observer = raftlogv1.FrontendRole_FRONTEND_ROLE_OBSERVER
)

// members is a cluster whose frontends come and go at time 100 and later.
type members struct {
	*cluster.State
	t  *testing.T
	at int64
}

func (m *members) join(id, host string, port uint32, want error) {
	m.t.Helper()
	m.at += 100
	if err := m.RegisterFrontend(&raftlogv1.Frontend{Id: id, Host: host, RaftPort: port}, m.at); !errors.Is(err, want) {
		m.t.Errorf("%s joins at %s:%d: %v, want %v", id, host, port, err, want)
	}
}

func (m *members) add(host string, port uint32, role raftlogv1.FrontendRole, want error) {
	m.t.Helper()
	m.at += 100
	if err := m.AddFrontend(&raftlogv1.AddFrontend{Host: host, RaftPort: port, Role: role}, m.at); !errors.Is(err, want) {
		m.t.Errorf("add %v %s:%d: %v, want %v", role, host, port, err, want)
	}
}

func (m *members) drop(host string, port uint32, role raftlogv1.FrontendRole, want error) {
	m.t.Helper()
	if err := m.DropFrontend(&raftlogv1.DropFrontend{Host: host, RaftPort: port, Role: role}); !errors.Is(err, want) {
		m.t.Errorf("drop %v %s:%d: %v, want %v", role, host, port, err, want)
	}
}

// are compares the members and those added, as "id host:port role joined".
func (m *members) are(want ...string) {
	m.t.Helper()
	var got []string
	for _, f := range append(m.Frontends(), m.AddedFrontends()...) {
		role := "f"
		if cluster.Role(f) == observer {
			role = "o"
		}
		got = append(got, fmt.Sprintf("%s %s:%d %s %d", f.Id, f.Host, f.RaftPort, role, f.JoinedMs))
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		m.t.Errorf("frontends are %q, want %q", got, want)
	}
}

func TestFrontends(t *testing.T) {
	m := &members{State: bootstrapped(t), t: t}
	m.join("b", "h1", 1, nil)
	m.join("a", "h2", 1, nil)
	first := m.Frontends()
	m.join("b", "h3", 1, nil)
	m.are("a h2:1 f 200", "b h3:1 f 100")
	if first[1].Host != "h1" {
		t.Error("a message that a reader holds was changed")
	}
	m.join("c", "", 1, cluster.ErrIncomplete)
	m.join("", "h4", 1, cluster.ErrIncomplete)
}

// TestAddedFrontends: what is added joins in its role, once.
func TestAddedFrontends(t *testing.T) {
	m := &members{State: bootstrapped(t), t: t}
	m.join("a", "h1", 1, nil)
	m.add("h1", 1, observer, cluster.ErrFrontendExists)
	m.add("h2", 1, observer, nil)
	m.add("h2", 1, follower, cluster.ErrFrontendExists)
	m.are("a h1:1 f 100", " h2:1 o 300")
	m.join("b", "h2", 1, nil)
	m.are("a h1:1 f 100", "b h2:1 o 500")
	m.join("b", "h2", 1, nil)
	m.are("a h1:1 f 100", "b h2:1 o 500")
	m.add("h3", 1, follower, nil)
	m.drop("h3", 1, observer, cluster.ErrNoFrontend)
	m.drop("h3", 1, follower, nil)
	m.are("a h1:1 f 100", "b h2:1 o 500")
	m.join("c", "h3", 1, cluster.ErrFrontendDropped)
	m.add("h4", 0, follower, cluster.ErrIncomplete)
	m.add("", 1, follower, cluster.ErrIncomplete)
	m.add("h4", 1, 0, cluster.ErrIncomplete)
}

// TestDroppedFrontends: one that was dropped stays away, by its id and by its
// address, until it is added again.
func TestDroppedFrontends(t *testing.T) {
	m := &members{State: bootstrapped(t), t: t}
	m.join("a", "h1", 1, nil)
	m.join("b", "h1", 2, nil)
	m.drop("h1", 2, observer, cluster.ErrNoFrontend)
	m.drop("h9", 2, follower, cluster.ErrNoFrontend)
	m.drop("h1", 2, follower, nil)
	m.drop("h1", 2, follower, cluster.ErrNoFrontend)
	m.are("a h1:1 f 100")
	if !m.FrontendDropped("b") || m.FrontendDropped("a") {
		t.Error("b was dropped, and nobody else")
	}
	m.join("b", "h1", 2, cluster.ErrFrontendDropped)
	m.join("b", "h5", 2, cluster.ErrFrontendDropped) // moved
	m.join("c", "h1", 2, cluster.ErrFrontendDropped) // its folder was emptied
	m.join("d", "h1", 3, nil)
	m.add("h1", 2, observer, nil)
	m.join("b", "h1", 2, nil)
	m.are("a h1:1 f 100", "b h1:2 o 800", "d h1:3 f 600")
}

// TestReplacedFrontends: a new id at an address takes the place and the role of
// the one there, which never comes back.
func TestReplacedFrontends(t *testing.T) {
	m := &members{State: bootstrapped(t), t: t}
	m.join("a", "h1", 1, nil)
	m.add("h1", 2, observer, nil)
	m.join("z", "h1", 2, nil)
	m.join("b", "h1", 2, nil)
	m.are("a h1:1 f 100", "b h1:2 o 400")
	m.join("z", "h1", 2, cluster.ErrFrontendDropped)
	m.join("z", "h7", 7, cluster.ErrFrontendDropped)
	m.join("c", "h1", 2, nil) // once more
	m.are("a h1:1 f 100", "c h1:2 o 700")
	m.join("a", "h1", 2, nil) // a moved to where c was
	m.are("a h1:2 f 100")
}

func TestRestoreFrontends(t *testing.T) {
	m := &members{State: bootstrapped(t), t: t}
	m.join("a", "h1", 1, nil)
	m.join("b", "h2", 1, nil)
	m.drop("h2", 1, follower, nil)
	m.add("h3", 1, observer, nil)
	var again cluster.State
	if err := again.Restore(proto.CloneOf(m.Record())); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(again.Record(), m.Record()) || again.Info().String() != m.Info().String() {
		t.Errorf("restored %v, want %v", again.Record(), m.Record())
	}
	m.State = &again
	m.join("b", "h2", 1, cluster.ErrFrontendDropped)
	m.join("c", "h3", 1, nil)
	m.are("a h1:1 f 100", "c h3:1 o 500")
}
