package chaos

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"shoal/integration/cluster"
)

// A network places nodes, and cuts them off from each other. The brokers and the
// clients are on the node "".
type network interface {
	// describe says what this network is.
	describe() string
	// add makes a node.
	add(t *testing.T, name string)
	// host is a node's address.
	host(name string) string
	// addr is an address on a node to listen on; each name of a service
	// belongs to one port.
	addr(t *testing.T, name string, port int) string
	// prefix is the command that runs another one on a node.
	prefix(name string) []string
	// cut drops what from sends to to, until it was healed as often.
	cut(from, to string) error
	heal(from, to string) error
}

// loopback has all nodes in one place.
type loopback struct{ why string }

func (l loopback) describe() string {
	return "all nodes on loopback, networks are not cut and disks not full: " + l.why
}
func (loopback) add(*testing.T, string)                    {}
func (loopback) host(string) string                        { return "127.0.0.1" }
func (loopback) addr(t *testing.T, _ string, _ int) string { return cluster.FreeAddr(t) }
func (loopback) prefix(string) []string                    { return nil }
func (loopback) cut(string, string) error                  { return nil }
func (loopback) heal(string, string) error                 { return nil }

// bridge gives each node a network namespace that a pair of virtual links
// connects to a bridge.
type bridge struct {
	mu    sync.Mutex
	hosts map[string]string
	cuts  map[[2]string]int
}

// nobody is a link address that no node has. The bridge floods what is sent to
// it, and no node takes it: the sender hears nothing, as of a broken cable.
const nobody = "02:00:00:00:00:ff"

// newBridge makes the bridge in this process's network namespace, which must be
// its own.
func newBridge() (*bridge, error) {
	// ip keeps the names of namespaces below /run, which may be another's.
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil {
		return nil, fmt.Errorf("mounting a tmpfs: %w", err)
	}
	b := &bridge{hosts: map[string]string{"": "10.99.0.1"}, cuts: map[[2]string]int{}}
	return b, commands(
		"ip link set lo up",
		"ip link add name br0 type bridge",
		"ip link set br0 up",
		"ip addr add 10.99.0.1/24 dev br0",
		"nsenter --version",
		"mount --version",
	)
}

// commands runs command lines, one after the other, until one fails.
func commands(lines ...string) error {
	for _, line := range lines {
		words := strings.Fields(line)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, out)
		}
	}
	return nil
}

func (b *bridge) describe() string { return "each node in a network namespace of its own" }

func (b *bridge) add(t *testing.T, name string) {
	t.Helper()
	host := fmt.Sprintf("10.99.0.%d", 10+len(b.hosts))
	b.hosts[name] = host
	if err := commands(
		"ip netns add "+name,
		"ip link add v-"+name+" type veth peer name eth0 netns "+name,
		"ip link set v-"+name+" master br0 up",
		"ip -n "+name+" addr add "+host+"/24 dev eth0",
		"ip -n "+name+" link set eth0 up",
		"ip -n "+name+" link set lo up",
	); err != nil {
		t.Fatal(err)
	}
}

func (b *bridge) host(name string) string { return b.hosts[name] }

func (b *bridge) addr(_ *testing.T, name string, port int) string {
	return fmt.Sprintf("%s:%d", b.hosts[name], port)
}

func (b *bridge) prefix(name string) []string {
	return []string{"nsenter", "--net=/run/netns/" + name, "--"}
}

func (b *bridge) cut(from, to string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	pair := [2]string{from, to}
	if b.cuts[pair]++; b.cuts[pair] > 1 {
		return nil
	}
	return commands(b.neighbour(from, "replace", to) + " lladdr " + nobody + " nud permanent")
}

func (b *bridge) heal(from, to string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	pair := [2]string{from, to}
	if b.cuts[pair]--; b.cuts[pair] > 0 {
		return nil
	}
	return commands(b.neighbour(from, "del", to))
}

// neighbour is the command about what from thinks to's link address is.
func (b *bridge) neighbour(from, verb, to string) string {
	if from == "" {
		return "ip neigh " + verb + " " + b.hosts[to] + " dev br0"
	}
	return "ip -n " + from + " neigh " + verb + " " + b.hosts[to] + " dev eth0"
}
