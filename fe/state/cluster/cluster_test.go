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

func TestRestore(t *testing.T) {
	s := bootstrapped(t)
	register(s, "a", "h1", 0)
	register(s, "b", "h1", 0)
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
