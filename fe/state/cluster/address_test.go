package cluster_test

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"shoal/fe/state/cluster"
	raftlogv1 "shoal/proto/raftlog/v1"
)

func TestAddress(t *testing.T) {
	for _, host := range []string{"fe1", "10.0.0.1", "::1", "fe80::1%eth0"} {
		if got, want := cluster.Address(host, 9060), net.JoinHostPort(host, strconv.Itoa(9060)); got != want {
			t.Errorf("Address(%q) = %s, want %s", host, got, want)
		}
	}
}

// What a refusal advises can be pasted, also where the host has colons.
func TestAdviceForIPv6(t *testing.T) {
	s := bootstrapped(t)
	b := &raftlogv1.Backend{NodeUuid: "u", Host: "::1", RpcPort: 9060}
	id, err := s.RegisterBackend(&raftlogv1.RegisterBackend{Backend: b}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DropBackend(&raftlogv1.DropBackend{BackendId: id}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RegisterBackend(&raftlogv1.RegisterBackend{Backend: b}, 2); err == nil || !strings.Contains(err.Error(), `"[::1]:9060"`) {
		t.Errorf("a dropped backend is told: %v", err)
	}
}
