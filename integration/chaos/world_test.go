package chaos

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// frontends and backends are how many there are.
const (
	frontends = 3
	backends  = 3
)

// diskBytes is the room that each node has, and the warehouse.
const diskBytes = 1 << 30

// world is the cluster and what is seen of it.
type world struct {
	t         *testing.T
	dir       string // of logs, kept if the test fails
	broker    *testkafka.Broker
	kafka     sync.Mutex // held by who kills a broker
	fes, bes  []*node
	warehouse disk
	*watch
}

// A node is a process in its place.
type node struct {
	*cluster.Process
	name string
	disk disk
	db   *sql.DB    // of a frontend
	held sync.Mutex // by the fault that is upon the node
}

// newWorld starts brokers, frontends and backends.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: keptDir(t), watch: newWatch(t)}
	kafka := filepath.Join(w.dir, "kafka")
	w.broker = testkafka.Start(t, testkafka.Nodes(3), testkafka.Host(field.host("")), testkafka.KeepIn(kafka))
	w.place()
	w.certify()
	w.warehouse = newDisk(t, filepath.Join(w.dir, "warehouse"))
	rpc, raft := w.addrs(9020), w.addrs(9010)
	for i, n := range w.fes {
		args := []string{"--mysql-addr", field.addr(t, n.name, 9030), "--http-addr", field.addr(t, n.name, 8030), "--rpc-addr", rpc[i], "--raft-addr", raft[i]}
		if i == 0 {
			args = append(args, "--bootstrap", "--warehouse", "file://"+string(w.warehouse))
		} else {
			args = append(args, "--join", strings.Join(rpc[:i], ","))
		}
		w.start(n, "fe", args)
		n.db = n.DB()
	}
	for _, n := range w.bes {
		w.start(n, "be", []string{"--fe", strings.Join(rpc, ","), "--http-addr", field.addr(t, n.name, 8040), "--rpc-addr", field.addr(t, n.name, 9060)})
	}
	return w
}

// keptDir is a folder that stays if the test fails, or -keep is given, and is
// named then.
func keptDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "shoal-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() || *keep {
			t.Logf("logs are in %s", dir)
		} else {
			os.RemoveAll(dir)
		}
	})
	return dir
}

// place makes the nodes' places in the network.
func (w *world) place() {
	for i := range frontends {
		w.fes = append(w.fes, &node{name: fmt.Sprintf("fe%d", i+1)})
	}
	for i := range backends {
		w.bes = append(w.bes, &node{name: fmt.Sprintf("be%d", i+1)})
	}
	for _, n := range w.nodes() {
		field.add(w.t, n.name)
	}
}

// nodes are all of them.
func (w *world) nodes() []*node { return slices.Concat(w.fes, w.bes) }

// addrs are addresses to listen on, one on each frontend.
func (w *world) addrs(port int) (addrs []string) {
	for _, n := range w.fes {
		addrs = append(addrs, field.addr(w.t, n.name, port))
	}
	return addrs
}

// certify makes the certificates of all nodes.
func (w *world) certify() {
	args := []string{"certs", "--out", filepath.Join(w.dir, "certs")}
	var hosts []string
	for _, n := range w.nodes() {
		hosts = append(hosts, field.host(n.name))
	}
	slices.Sort(hosts)
	for _, host := range slices.Compact(hosts) {
		args = append(args, "--host", host)
	}
	if out, err := exec.Command(cluster.Binary(w.t), args...).CombinedOutput(); err != nil {
		w.t.Fatalf("shoal certs: %v\n%s", err, out)
	}
}

// start runs a node with what is special of it.
func (w *world) start(n *node, role string, args []string) {
	host, dir := field.host(n.name), filepath.Join(w.dir, n.name)
	n.disk = newDisk(w.t, filepath.Join(dir, role))
	args = append(args, "--advertise-host", host, "--tls-dir", filepath.Join(w.dir, "certs", host))
	n.Process = cluster.NewIn(w.t, dir, role, args...)
	n.Prefix(field.prefix(n.name)...)
	n.Run()
}

// A disk is a folder that can be full.
type disk string

// newDisk makes the folder, of a size where the network is of our own making.
func newDisk(t *testing.T, dir string) disk {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, ours := field.(*bridge); !ours {
		return disk(dir)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskBytes)); err != nil {
		t.Fatalf("mounting %s: %v", dir, err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return disk(dir)
}

// fill leaves no room for another byte, by making the disk as small as what it
// holds.
func (d disk) fill() error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(string(d), &s); err != nil {
		return err
	}
	used := max(1, s.Blocks-s.Bfree) * uint64(s.Bsize) // 0 would be without limit
	return d.resize(used)
}

// free gives the room back.
func (d disk) free() error { return d.resize(diskBytes) }

func (d disk) resize(bytes uint64) error {
	return syscall.Mount("tmpfs", string(d), "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", bytes))
}
