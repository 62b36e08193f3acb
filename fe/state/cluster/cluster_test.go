package cluster_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state/cluster"
	raftlogv1 "shoal/proto/raftlog/v1"
)

func bootstrapped(t *testing.T) *cluster.State {
	t.Helper()
	var s cluster.State
	if err := s.Bootstrap(&raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}); err != nil {
		t.Fatal(err)
	}
	return &s
}

func TestBootstrapOnce(t *testing.T) {
	var s cluster.State
	if err := s.Bootstrap(&raftlogv1.Bootstrap{ClusterId: "c1"}); !errors.Is(err, cluster.ErrIncomplete) {
		t.Errorf("Bootstrap without a warehouse = %v, want ErrIncomplete", err)
	}
	if s.Bootstrapped() {
		t.Error("a refused Bootstrap made a cluster")
	}
	s = *bootstrapped(t)
	if err := s.Bootstrap(&raftlogv1.Bootstrap{ClusterId: "c2", Warehouse: "file:///w"}); !errors.Is(err, cluster.ErrBootstrapped) {
		t.Errorf("second Bootstrap = %v, want ErrBootstrapped", err)
	}
	if got := s.Info(); got.ClusterId != "c1" || got.Warehouse != "file:///w" || got.Incarnation != 1 {
		t.Errorf("Info = %v", got)
	}
}

func TestBackends(t *testing.T) {
	s := bootstrapped(t)
	a, err := s.RegisterBackend(&raftlogv1.Backend{NodeUuid: "a", Host: "h1", Id: 77, Dropped: true}, 100)
	if err != nil || a == 77 {
		t.Fatalf("RegisterBackend = %d, %v; want an id of the cluster's own", a, err)
	}
	b, _ := s.RegisterBackend(&raftlogv1.Backend{NodeUuid: "b", Host: "h2"}, 200)
	first := s.Backends()
	again, err := s.RegisterBackend(&raftlogv1.Backend{NodeUuid: "a", Host: "h3", Slots: 16}, 300)
	if err != nil || again != a {
		t.Errorf("registered again it is backend %d (%v), want %d", again, err, a)
	}
	if first[0].Host != "h1" {
		t.Error("a message that a reader holds was changed")
	}
	if got := s.Backends()[0]; got.Host != "h3" || got.Slots != 16 || got.JoinedMs != 100 || got.Dropped {
		t.Errorf("backend after renewal = %v", got)
	}
	if err := s.DropBackend(a); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RegisterBackend(&raftlogv1.Backend{NodeUuid: "a", Host: "h3"}, 400); !errors.Is(err, cluster.ErrBackendDropped) {
		t.Errorf("RegisterBackend of a dropped one = %v, want ErrBackendDropped", err)
	}
	for id, want := range map[uint64]error{a: cluster.ErrBackendDropped, b: nil, 1: cluster.ErrNoBackend} {
		if err := s.CheckBackend(id); !errors.Is(err, want) {
			t.Errorf("CheckBackend(%d) = %v, want %v", id, err, want)
		}
	}
	if err := s.DropBackend(1); !errors.Is(err, cluster.ErrNoBackend) {
		t.Errorf("DropBackend of an unknown one = %v, want ErrNoBackend", err)
	}
	if _, err := s.RegisterBackend(nil, 1); !errors.Is(err, cluster.ErrIncomplete) {
		t.Errorf("RegisterBackend(nil) = %v, want ErrIncomplete", err)
	}
}

func TestRestore(t *testing.T) {
	s := bootstrapped(t)
	s.RegisterBackend(&raftlogv1.Backend{NodeUuid: "a", Host: "h1"}, 1)
	s.RegisterBackend(&raftlogv1.Backend{NodeUuid: "b", Host: "h1"}, 1)
	s.RegisterFrontend(&raftlogv1.Frontend{Id: "a", Host: "h2"}, 1)
	record := proto.Clone(s.Record()).(*raftlogv1.Cluster)
	var again cluster.State
	if err := again.Restore(record); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(again.Record(), s.Record()) || again.NextID() != s.NextID() {
		t.Errorf("restored %v, want %v", again.Record(), s.Record())
	}
	if err := again.Restore(record); err == nil {
		t.Error("a second cluster was restored")
	}
	record.Backends[0], record.Backends[1] = record.Backends[1], record.Backends[0]
	if err := new(cluster.State).Restore(record); err == nil {
		t.Error("backends out of order were restored")
	}
}
