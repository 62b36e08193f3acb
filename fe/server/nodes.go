package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"shoal/fe/backend"
	"shoal/fe/forward"
	"shoal/fe/result"
	"shoal/fe/state"
	"shoal/fe/state/cluster"
	adminv1 "shoal/proto/admin/v1"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// nodes lists the cluster's processes, for SHOW and the admin API.
type nodes struct {
	store    *store
	registry *backend.Registry
	cluster  *forward.Cluster
	id       string // of this frontend
	started  time.Time
}

// Frontends is SHOW FRONTENDS, with Doris's columns: the members, asked now, and
// those that were added and have not joined yet. What nobody said is NULL. None
// is the master unless led.
func (n *nodes) Frontends(ctx context.Context, led bool) *result.Table {
	t := &result.Table{Columns: result.Texts("Name", "Host", "EditLogPort", "HttpPort", "QueryPort", "RpcPort", "ArrowFlightSqlPort", "Role", "IsMaster",
		"ClusterId", "Join", "Alive", "ReplayedJournalId", "LastStartTime", "LastHeartbeat", "IsHelper", "ErrMsg", "Version", "CurrentConnected")}
	members, added, id := n.frontends()
	leader := n.leader(led)
	for i, said := range n.askAll(ctx, members) {
		f := members[i]
		row := []result.Cell{result.Text(f.Id), result.Text(f.Host), port(f.RaftPort), port(f.HttpPort), port(f.MysqlPort), port(f.RpcPort),
			result.Text("-1"), result.Text(role(f)), truth(f.Id == leader), result.Text(id), truth(true), truth(said.err == ""),
			nil, nil, nil, truth(true), result.Text(said.err), result.Text(f.Version), result.Text(yes(f.Id == n.id))}
		if said.err == "" {
			row[12], row[13], row[14] = result.Text(strconv.FormatUint(said.AppliedIndex, 10)), result.OrNull(dateTime(time.UnixMilli(said.StartedMs))), result.OrNull(dateTime(time.Now()))
			row[16], row[17] = result.Text(said.Trouble), result.Text(said.Version)
		}
		t.Rows = append(t.Rows, row)
	}
	for _, f := range added {
		t.Rows = append(t.Rows, []result.Cell{nil, result.Text(f.Host), port(f.RaftPort), nil, nil, nil, result.Text("-1"), result.Text(role(f)), truth(false),
			result.Text(id), truth(false), truth(false), nil, nil, nil, truth(false), result.Text("has not joined yet"), nil, result.Text(yes(false))})
	}
	return t
}

// leader is who leads, empty if nobody is known to.
func (n *nodes) leader(led bool) string {
	if !led {
		return "" // whoever is remembered could not be reached, or is no leader any more
	}
	return n.store.LeaderID()
}

func (n *nodes) frontends() (members, added []*raftlogv1.Frontend, clusterID string) {
	n.store.View(func(st *state.State) {
		members, added, clusterID = st.Frontends(), st.AddedFrontends(), st.ClusterInfo().GetClusterId()
	})
	return members, added, clusterID
}

// said is what a frontend said of itself, or why it said nothing.
type said struct {
	*frontendv1.FrontendStatusResponse
	err string
}

// askAll asks frontends at the same time.
func (n *nodes) askAll(ctx context.Context, frontends []*raftlogv1.Frontend) []said {
	answers := make([]said, len(frontends))
	var asking sync.WaitGroup
	for i, f := range frontends {
		asking.Go(func() { answers[i] = n.ask(ctx, f) })
	}
	asking.Wait()
	return answers
}

func (n *nodes) ask(ctx context.Context, f *raftlogv1.Frontend) said {
	if f.Id == n.id {
		return said{FrontendStatusResponse: n.cluster.Status()}
	}
	answer, err := n.cluster.Ask(ctx, cluster.Address(f.Host, f.RpcPort))
	switch {
	case err != nil:
		return said{err: err.Error()}
	case answer.FrontendId != f.Id:
		return said{err: "frontend " + answer.FrontendId + " answers at its address"}
	}
	return said{FrontendStatusResponse: answer}
}

// role is Doris's word for a frontend's part.
func role(f *raftlogv1.Frontend) string {
	return strings.TrimPrefix(cluster.Role(f).String(), "FRONTEND_ROLE_")
}

// Backends is SHOW BACKENDS, with Doris's columns; Shoal's backends have no
// tablets and no disks of their own, so those are NULL. What heartbeats tell is
// NULL, too, unless led: the leader sends them.
func (n *nodes) Backends(led bool) *result.Table {
	t := &result.Table{Columns: result.Texts("BackendId", "Host", "HeartbeatPort", "BePort", "HttpPort", "BrpcPort", "ArrowFlightSqlPort", "LastStartTime",
		"LastHeartbeat", "Alive", "SystemDecommissioned", "TabletNum", "DataUsedCapacity", "TrashUsedCapacity", "AvailCapacity", "TotalCapacity",
		"UsedPct", "MaxDiskUsedPct", "RemoteUsedCapacity", "Tag", "ErrMsg", "Version", "Status", "HeartbeatFailureCounter", "NodeRole", "CpuCores", "Memory")}
	heard := n.heard()
	for _, b := range n.backends() {
		s := heard[b.Id]
		rpc := port(b.RpcPort)
		row := []result.Cell{result.Text(strconv.FormatUint(b.Id, 10)), result.Text(b.Host), rpc, rpc, port(b.HttpPort), rpc,
			result.Text("-1"), result.OrNull(dateTime(s.Started)), result.OrNull(dateTime(s.Heard)), truth(s.Alive), truth(b.Decommissioning),
			nil, nil, nil, nil, nil, nil, nil, nil, nil, result.Text(trouble(b, s)), result.OrNull(b.Version), result.Text(loadStatus(s)), nil, result.Text("mix"), nil, nil}
		if !led {
			row[7], row[8], row[9], row[20], row[22] = nil, nil, nil, result.Text(unled), nil
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// unled is why it is not known whether a backend is alive.
const unled = "not known whether it is alive: no frontend that leads could be reached"

// backends are those that were not dropped.
func (n *nodes) backends() (backends []*raftlogv1.Backend) {
	n.store.View(func(st *state.State) {
		for _, b := range st.Backends() {
			if !b.Dropped {
				backends = append(backends, b)
			}
		}
	})
	return backends
}

// heard is what heartbeats tell, by backend.
func (n *nodes) heard() map[uint64]backend.Status {
	byID := map[uint64]backend.Status{}
	for _, s := range n.registry.Backends() {
		byID[s.ID] = s
	}
	return byID
}

// trouble is what is wrong with a backend, empty if nothing is.
func trouble(b *raftlogv1.Backend, s backend.Status) string {
	if b.NodeUuid == "" {
		return "has not joined yet"
	}
	if s.BlackListed != "" {
		return "on the black list, so that it gets no tasks for a while: " + s.BlackListed
	}
	return s.Err + s.WarehouseError
}

// loadStatus is Status: of Doris's keys those that mean something here.
func loadStatus(s backend.Status) string {
	return fmt.Sprintf(`{"isQueryDisabled":%t,"isLoadDisabled":%t}`, !s.Alive, !s.Takes())
}

// List is the nodes for the admin API, as Frontends and Backends tell of them.
func (n *nodes) List(ctx context.Context, led bool) []*adminv1.Node {
	var out []*adminv1.Node
	members, added, _ := n.frontends()
	leader := n.leader(led)
	for i, said := range n.askAll(ctx, members) {
		f := members[i]
		out = append(out, &adminv1.Node{Id: f.Id, Role: adminv1.Node_ROLE_FRONTEND, FrontendRole: role(f), Address: cluster.Address(f.Host, f.RpcPort),
			Alive: said.err == "", Leader: f.Id == leader, Version: f.Version, Trouble: said.err})
	}
	for _, f := range added {
		out = append(out, &adminv1.Node{Role: adminv1.Node_ROLE_FRONTEND, FrontendRole: role(f), Trouble: "has not joined yet at edit log port " + cluster.Address(f.Host, f.RaftPort)})
	}
	heard := n.heard()
	for _, b := range n.backends() {
		node := &adminv1.Node{Id: strconv.FormatUint(b.Id, 10), Role: adminv1.Node_ROLE_BACKEND, Address: cluster.Address(b.Host, b.RpcPort),
			Version: b.Version, Decommissioning: b.Decommissioning, Trouble: unled}
		if led {
			node.Alive, node.Trouble = heard[b.Id].Alive, trouble(b, heard[b.Id])
		}
		out = append(out, node)
	}
	return out
}

// port is a port, NULL of a node that has not said it yet.
func port(p uint32) result.Cell {
	if p == 0 {
		return nil
	}
	return result.Text(strconv.FormatUint(uint64(p), 10))
}

// truth is how Doris prints booleans here.
func truth(b bool) result.Cell { return result.Text(strconv.FormatBool(b)) }

// yes is how it prints others.
func yes(b bool) string {
	if b {
		return "Yes"
	}
	return "No"
}

func dateTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime)
}
