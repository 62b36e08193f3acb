package backend_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"shoal/fe/backend"
	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// viewer is a state that does not change.
type viewer struct{ *state.State }

func (v viewer) View(read func(*state.State)) { read(v.State) }

// TestPool: queries go to backends that are alive, in turns, and to one that is
// being decommissioned only for want of others.
func TestPool(t *testing.T) { synctest.Test(t, testPool) }

func testPool(t *testing.T) {
	s, index := viewer{state.New()}, uint64(0)
	apply := func(cmd *raftlogv1.Command) uint64 {
		t.Helper()
		index++
		applied := s.Apply(index, cmd)
		if applied.Err != nil {
			t.Fatal(applied.Err)
		}
		return applied.ID
	}
	apply(&raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}})
	var ids []uint64
	for port := range uint32(4) {
		ids = append(ids, apply(&raftlogv1.Command{Body: &raftlogv1.Command_AddBackend{AddBackend: &raftlogv1.AddBackend{Host: "127.0.0.1", RpcPort: port + 1}}}))
	}
	apply(&raftlogv1.Command{Body: &raftlogv1.Command_DecommissionBackend{DecommissionBackend: &raftlogv1.DecommissionBackend{BackendId: ids[2]}}})
	apply(&raftlogv1.Command{Body: &raftlogv1.Command_DropBackend{DropBackend: &raftlogv1.DropBackend{BackendId: ids[3]}}})
	var live []uint64
	pool := backend.NewPool(s, func() []uint64 { return live }, grpc.WithTransportCredentials(insecure.NewCredentials()))
	defer pool.Close()
	for _, tt := range []struct {
		name  string
		live  []uint64
		picks int // how many different ones
	}{
		{"none", nil, 0},
		{"all", ids, 2},
		{"one", ids[1:2], 1},
		{"the one that leaves", ids[2:3], 1},
		{"the one that was dropped", ids[3:], 0},
	} {
		live = tt.live
		picked := map[string]bool{} // by connection
		for range 8 {
			client, err := pool.Pick(t.Context())
			switch {
			case err == nil:
				picked[fmt.Sprint(client)] = true
			case !errors.Is(err, backend.ErrNoBackend) || tt.picks > 0:
				t.Errorf("%s: Pick = %v", tt.name, err)
			}
		}
		if len(picked) != tt.picks {
			t.Errorf("%s: %d backends were picked, want %d", tt.name, len(picked), tt.picks)
		}
	}
}
