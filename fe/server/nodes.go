package server

import (
	"strconv"
	"time"

	"shoal/fe/backend"
	"shoal/fe/result"
	"shoal/fe/state"
	adminv1 "shoal/proto/admin/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// nodes lists the cluster's processes, for SHOW and the admin API.
type nodes struct {
	store    *store
	registry *backend.Registry
	id       string // of this frontend
	started  time.Time
}

// Frontends is SHOW FRONTENDS, with Doris's columns; what another frontend
// alone knows is NULL.
func (n *nodes) Frontends() *result.Table {
	t := &result.Table{Columns: result.Texts("Name", "Host", "EditLogPort", "HttpPort", "QueryPort", "RpcPort", "ArrowFlightSqlPort", "Role", "IsMaster",
		"ClusterId", "Join", "Alive", "ReplayedJournalId", "LastStartTime", "LastHeartbeat", "IsHelper", "ErrMsg", "Version", "CurrentConnected")}
	frontends, cluster, applied := n.frontends()
	leader := n.store.LeaderID()
	for _, f := range frontends {
		here := f.Id == n.id
		row := []result.Cell{result.Text(f.Id), result.Text(f.Host), port(f.RaftPort), port(f.HttpPort), port(f.MysqlPort), port(f.RpcPort),
			result.Text("-1"), result.Text("FOLLOWER"), truth(f.Id == leader), result.Text(cluster), truth(true), nil, nil, nil, nil, truth(true),
			result.Text(""), result.Text(f.Version), nil}
		if here {
			row[11], row[12], row[13] = truth(true), result.Text(strconv.FormatUint(applied, 10)), result.Text(dateTime(n.started))
			row[18] = result.Text("Yes")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (n *nodes) frontends() (frontends []*raftlogv1.Frontend, cluster string, applied uint64) {
	n.store.View(func(st *state.State) {
		frontends, cluster, applied = st.Frontends(), st.ClusterInfo().GetClusterId(), st.Applied()
	})
	return frontends, cluster, applied
}

// Backends is SHOW BACKENDS, with Doris's columns; Shoal's backends have no
// tablets and no disks of their own, so those are NULL.
func (n *nodes) Backends() *result.Table {
	t := &result.Table{Columns: result.Texts("BackendId", "Host", "HeartbeatPort", "BePort", "HttpPort", "BrpcPort", "ArrowFlightSqlPort", "LastStartTime",
		"LastHeartbeat", "Alive", "SystemDecommissioned", "TabletNum", "DataUsedCapacity", "TrashUsedCapacity", "AvailCapacity", "TotalCapacity",
		"UsedPct", "MaxDiskUsedPct", "RemoteUsedCapacity", "Tag", "ErrMsg", "Version", "Status", "HeartbeatFailureCounter", "NodeRole", "CpuCores", "Memory")}
	byID := map[uint64]backend.Status{}
	for _, s := range n.registry.Backends() {
		byID[s.ID] = s
	}
	for _, b := range n.backends() {
		s := byID[b.Id]
		rpc := port(b.RpcPort)
		t.Rows = append(t.Rows, []result.Cell{result.Text(strconv.FormatUint(b.Id, 10)), result.Text(b.Host), rpc, rpc, port(b.HttpPort), rpc,
			result.Text("-1"), result.OrNull(dateTime(s.Started)), result.OrNull(dateTime(s.Heard)), truth(s.Alive), truth(b.Dropped),
			nil, nil, nil, nil, nil, nil, nil, nil, nil, result.Text(s.Err + s.WarehouseError), result.Text(b.Version), nil, nil, result.Text("mix"), nil, nil})
	}
	return t
}

func (n *nodes) backends() (backends []*raftlogv1.Backend) {
	n.store.View(func(st *state.State) { backends = st.Backends() })
	return backends
}

// List is the nodes for the admin API.
func (n *nodes) List() []*adminv1.Node {
	var out []*adminv1.Node
	frontends, _, _ := n.frontends()
	leader := n.store.LeaderID()
	for _, f := range frontends {
		out = append(out, &adminv1.Node{Id: f.Id, Role: adminv1.Node_ROLE_FRONTEND, Address: hostPort(f.Host, f.RpcPort),
			Alive: f.Id == n.id || f.Id == leader, Leader: f.Id == leader, Version: f.Version})
	}
	alive := map[uint64]bool{}
	for _, s := range n.registry.Backends() {
		alive[s.ID] = s.Alive
	}
	for _, b := range n.backends() {
		out = append(out, &adminv1.Node{Id: strconv.FormatUint(b.Id, 10), Role: adminv1.Node_ROLE_BACKEND, Address: hostPort(b.Host, b.RpcPort),
			Alive: alive[b.Id], Version: b.Version})
	}
	return out
}

func port(p uint32) result.Cell { return result.Text(strconv.FormatUint(uint64(p), 10)) }

// truth is how Doris prints booleans here.
func truth(b bool) result.Cell { return result.Text(strconv.FormatBool(b)) }

func dateTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime)
}
