package cluster_test

import (
	"errors"
	"testing"

	"shoal/fe/state/cluster"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// register registers a backend as frontends do now, by address too if it has a
// port.
func register(s *cluster.State, uuid, host string, port uint32) (uint64, error) {
	return s.RegisterBackend(&raftlogv1.RegisterBackend{ByAddress: port != 0,
		Backend: &raftlogv1.Backend{NodeUuid: uuid, Host: host, RpcPort: port}}, 100)
}

func add(s *cluster.State, host string, port uint32) (uint64, error) {
	return s.AddBackend(&raftlogv1.AddBackend{Host: host, RpcPort: port}, 50)
}

func drop(s *cluster.State, id uint64) error {
	return s.DropBackend(&raftlogv1.DropBackend{BackendId: id}, false)
}

func TestBackends(t *testing.T) {
	s := bootstrapped(t)
	a, err := s.RegisterBackend(&raftlogv1.RegisterBackend{Backend: &raftlogv1.Backend{NodeUuid: "a", Host: "h1", Id: 77, Dropped: true, Decommissioning: true}}, 100)
	if err != nil || a == 77 || s.Backends()[0].Decommissioning {
		t.Fatalf("RegisterBackend = %d, %v; want an id of the cluster's own, and nothing that SQL decides", a, err)
	}
	b, _ := register(s, "b", "h2", 0)
	first := s.Backends()
	again, err := s.RegisterBackend(&raftlogv1.RegisterBackend{Backend: &raftlogv1.Backend{NodeUuid: "a", Host: "h3", Slots: 16}}, 300)
	if err != nil || again != a {
		t.Errorf("registered again it is backend %d (%v), want %d", again, err, a)
	}
	if first[0].Host != "h1" {
		t.Error("a message that a reader holds was changed")
	}
	if got := s.Backends()[0]; got.Host != "h3" || got.Slots != 16 || got.JoinedMs != 100 || got.Dropped {
		t.Errorf("backend after renewal = %v", got)
	}
	if err := drop(s, a); err != nil {
		t.Fatal(err)
	}
	if _, err := register(s, "a", "h3", 0); !errors.Is(err, cluster.ErrBackendDropped) {
		t.Errorf("RegisterBackend of a dropped one = %v, want ErrBackendDropped", err)
	}
	for id, want := range map[uint64]error{a: cluster.ErrBackendDropped, b: nil, 1: cluster.ErrNoBackend} {
		if err := s.CheckBackend(id); !errors.Is(err, want) {
			t.Errorf("CheckBackend(%d) = %v, want %v", id, err, want)
		}
	}
	if err := drop(s, 1); !errors.Is(err, cluster.ErrNoBackend) {
		t.Errorf("DropBackend of an unknown one = %v, want ErrNoBackend", err)
	}
	if _, err := s.RegisterBackend(nil, 1); !errors.Is(err, cluster.ErrIncomplete) {
		t.Errorf("RegisterBackend(nil) = %v, want ErrIncomplete", err)
	}
}

// TestBackendAddresses: who registers at an address takes the place of what is
// known there, except of what was dropped.
func TestBackendAddresses(t *testing.T) {
	s := bootstrapped(t)
	awaited, err := add(s, "h1", 9060)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := add(s, "h1", 9060); !errors.Is(err, cluster.ErrBackendExists) {
		t.Errorf("AddBackend twice = %v, want ErrBackendExists", err)
	}
	if id, err := register(s, "a", "h1", 9060); err != nil || id != awaited || len(s.Backends()) != 1 {
		t.Errorf("the backend that was added is %d (%v), want %d", id, err, awaited)
	}
	wiped, err := register(s, "a2", "h1", 9060)
	if err != nil || wiped == awaited || len(s.Backends()) != 1 {
		t.Errorf("with an emptied folder it is %d (%v), and there are %v", wiped, err, s.Backends())
	}
	if err := drop(s, wiped); err != nil {
		t.Fatal(err)
	}
	for _, uuid := range []string{"a2", "a3"} {
		if _, err := register(s, uuid, "h1", 9060); !errors.Is(err, cluster.ErrBackendDropped) {
			t.Errorf("RegisterBackend of %s where one was dropped = %v, want ErrBackendDropped", uuid, err)
		}
	}
	if id, err := add(s, "h1", 9060); err != nil || id != wiped {
		t.Errorf("added again it is %d (%v), want %d", id, err, wiped)
	}
	if id, err := register(s, "a2", "h1", 9060); err != nil || id != wiped {
		t.Errorf("back it is %d (%v), want %d", id, err, wiped)
	}
	if err := drop(s, wiped); err != nil {
		t.Fatal(err)
	}
	moved, err := add(s, "h2", 9060)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := register(s, "a2", "h2", 9060); err != nil || id != moved || len(s.Backends()) != 1 {
		t.Errorf("a dropped one that was added where it is now is %d (%v), want %d: %v", id, err, moved, s.Backends())
	}
	if _, err := add(s, "", 1); !errors.Is(err, cluster.ErrIncomplete) {
		t.Errorf("AddBackend without a host = %v, want ErrIncomplete", err)
	}
}

func TestDecommission(t *testing.T) {
	s := bootstrapped(t)
	id, _ := register(s, "a", "h1", 9060)
	set := func(cancel bool) error {
		return s.DecommissionBackend(&raftlogv1.DecommissionBackend{BackendId: id, Cancel: cancel})
	}
	end := &raftlogv1.DropBackend{BackendId: id, Idle: true, Decommissioned: true}
	if err := s.DropBackend(end, false); !errors.Is(err, cluster.ErrNotDecommissioning) {
		t.Errorf("the end of a decommissioning that was cancelled = %v, want ErrNotDecommissioning", err)
	}
	for range 2 {
		if err := set(false); err != nil || !s.Backends()[0].Decommissioning {
			t.Errorf("DecommissionBackend = %v, %v", err, s.Backends()[0])
		}
	}
	if _, err := register(s, "a", "h1", 9060); err != nil || !s.Backends()[0].Decommissioning {
		t.Errorf("a restart (%v) ended it: %v", err, s.Backends()[0])
	}
	if err := s.DropBackend(end, true); !errors.Is(err, cluster.ErrBackendBusy) {
		t.Errorf("DropBackend with tasks = %v, want ErrBackendBusy", err)
	}
	if err := errors.Join(set(true), set(false), s.DropBackend(end, false)); err != nil {
		t.Error(err)
	}
	if got := s.Backends()[0]; !got.Dropped || got.Decommissioning {
		t.Errorf("in the end it is %v", got)
	}
	if err := set(false); !errors.Is(err, cluster.ErrBackendDropped) {
		t.Errorf("DecommissionBackend of a dropped one = %v, want ErrBackendDropped", err)
	}
}
