// Package testkafka gives tests and benchmarks a real Kafka broker, run by scripts/kafka on loopback.
//
// A test binary has one broker (Shared) and its tests keep apart by topic and group names; CreateTopic hands out
// unique ones. A test that kills nodes, needs three of them, or other settings has a broker of its own (Start).
//
// A broker cannot outlive the test binary, however that ends: scripts/kafka holds the read end of a pipe whose write
// end only the binary has, and when it reads the end of it, it kills the nodes and removes their folder. So
// nothing here needs a TestMain, and no goroutine runs behind a broker.
//
// Where Kafka cannot run (no Java, no Maven) the test fails with the script's words, unless the caller opted out of
// kafka (internal/testdeps).
package testkafka

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"shoal/internal/testdeps"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// portTaken is the script's exit status when another process has one of the ports.
const portTaken = 75

// A Broker is a running Kafka cluster of one or three nodes. Its methods may be called from several goroutines.
type Broker struct {
	nodes  int
	addrs  []string // bootstrap address of node i+1
	dir    string   // where the nodes keep what they write
	script *exec.Cmd
	alive  *os.File // write end of the script's standard input; closing it ends the broker
	topics atomic.Int64
}

// An Option changes how a broker is started.
type Option func(*config)

type config struct {
	nodes int
	args  []string
}

// Nodes starts n brokers, 1 or 3. Node 1 is the only controller: kill the others.
func Nodes(n int) Option {
	return func(c *config) { c.nodes = n }
}

// Version starts another release of Kafka than scripts/kafka's default. Before 4.1 there are no share groups.
func Version(v string) Option {
	return func(c *config) { c.args = append(c.args, "--version", v) }
}

// Set adds a line to server.properties of all nodes. It wins over the script's own.
func Set(key, value string) Option {
	return func(c *config) { c.args = append(c.args, "--set", key+"="+value) }
}

// Heap gives each node that much memory, as in "1g".
func Heap(size string) Option {
	return func(c *config) { c.args = append(c.args, "--heap", size) }
}

// Host is the IPv4 address that all nodes listen on, in place of loopback's.
func Host(ip string) Option {
	return func(c *config) { c.args = append(c.args, "--host", ip) }
}

// KeepIn is the folder, empty or not there yet, that keeps what the nodes write, logs among it, after the broker's end.
func KeepIn(dir string) Option {
	return func(c *config) { c.args = append(c.args, "--dir", dir) }
}

// Start starts a broker for this test alone and stops it when the test is over.
func Start(tb testing.TB, options ...Option) *Broker {
	tb.Helper()
	testdeps.Skip(tb, testdeps.Kafka)
	b, err := start(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.stop)
	return b
}

var shared = sync.OnceValues(func() (*Broker, error) { return start(nil) })

// Shared returns the broker of this test binary, one node with the script's settings, and starts it on the first
// call. It ends with the binary. Do not kill it.
func Shared(tb testing.TB) *Broker {
	tb.Helper()
	testdeps.Skip(tb, testdeps.Kafka)
	b, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// start runs the script until it says ready. Ports are drawn at random below the range that the system takes for
// outgoing connections; one that another process took meanwhile is drawn again.
func start(options []Option) (*Broker, error) {
	c := config{nodes: 1}
	for _, option := range options {
		option(&c)
	}
	for range 10 {
		port := 15000 + rand.IntN(15000)
		b, err := run(c, port)
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == portTaken {
			continue
		}
		return b, err
	}
	return nil, errors.New("testkafka: no free ports in ten draws")
}

// run starts the script and waits for its word.
func run(c config, port int) (*Broker, error) {
	stdin, alive, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	complaint, err := os.CreateTemp("", "scripts-kafka-")
	if err != nil {
		return nil, errors.Join(err, alive.Close())
	}
	defer complaint.Close()
	defer os.Remove(complaint.Name())
	args := append([]string{"run", "--fast", "--nodes", fmt.Sprint(c.nodes), "--port", fmt.Sprint(port)}, c.args...)
	script := exec.Command(scriptPath(), args...)
	script.Stdin, script.Stderr = stdin, complaint // files, so that no goroutine copies
	// Ctrl-C ends this process, and so the pipe; the script must live to see it.
	script.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := script.StdoutPipe()
	if err == nil {
		err = script.Start()
	}
	if err != nil {
		return nil, errors.Join(err, alive.Close())
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	ready := strings.Fields(line) // ready BOOTSTRAP_SERVERS DIR
	if len(ready) != 3 {
		alive.Close()
		err := script.Wait()
		said, _ := os.ReadFile(complaint.Name())
		return nil, fmt.Errorf("testkafka: scripts/kafka %s: %w\n%s", strings.Join(args, " "), err, said)
	}
	return &Broker{nodes: c.nodes, addrs: strings.Split(ready[1], ","), dir: ready[2], script: script, alive: alive}, nil
}

// scriptPath finds scripts/kafka beside this package's source.
func scriptPath() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "scripts", "kafka")
}

func (b *Broker) stop() {
	b.alive.Close()
	b.script.Wait()
}

// Addr returns the bootstrap servers, separated by commas.
func (b *Broker) Addr() string { return strings.Join(b.addrs, ",") }

// Kill kills node (1, 2 or 3) with SIGKILL and returns when it is gone.
func (b *Broker) Kill(tb testing.TB, node int) {
	tb.Helper()
	if err := b.TryKill(node); err != nil {
		tb.Fatal(err)
	}
}

// TryKill is Kill for goroutines other than the test's.
func (b *Broker) TryKill(node int) error {
	_, err := tryCall("kill", "--dir", b.dir, "--node", fmt.Sprint(node))
	return err
}

// Restart starts node (1, 2 or 3) again on its data, shutting it down before if it runs, and returns when the
// cluster serves.
func (b *Broker) Restart(tb testing.TB, node int) {
	tb.Helper()
	if err := b.TryRestart(node); err != nil {
		tb.Fatal(err)
	}
}

// TryRestart is Restart for goroutines other than the test's.
func (b *Broker) TryRestart(node int) error {
	_, err := tryCall("restart", "--dir", b.dir, "--node", fmt.Sprint(node))
	return err
}

// Tool runs one of Kafka's own command-line classes, such as ShareGroupCommand or TopicCommand, against this broker and
// returns what it printed. The test fails if the tool does.
func (b *Broker) Tool(tb testing.TB, class string, args ...string) string {
	tb.Helper()
	out, err := b.TryTool(class, args...)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// TryTool is Tool for what may be refused: the error has the tool's words.
func (b *Broker) TryTool(class string, args ...string) (string, error) {
	return tryCall(append([]string{"tool", "--dir", b.dir, class, "--bootstrap-server", b.Addr()}, args...)...)
}

func tryCall(args ...string) (string, error) {
	out, err := exec.Command(scriptPath(), args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("scripts/kafka %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// CreateTopic creates a topic on all nodes with the given topic configs (nil for none), waits until each of them knows
// it, and returns its name, which is the test's with a number.
func (b *Broker) CreateTopic(tb testing.TB, partitions int, configs map[string]string) string {
	tb.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...))
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	values := make(map[string]*string, len(configs))
	for key, value := range configs {
		values[key] = &value
	}
	topic := fmt.Sprintf("%s-%d", legal(tb.Name()), b.topics.Add(1))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := kadm.NewClient(client).CreateTopic(ctx, int32(partitions), int16(b.nodes), values, topic); err != nil {
		tb.Fatalf("create topic %s: %v", topic, err)
	}
	for _, node := range client.SeedBrokers() {
		if err := awaitTopic(ctx, node, topic); err != nil {
			tb.Fatalf("topic %s was created, but: %v", topic, err)
		}
	}
	return topic
}

// awaitTopic waits until a node tells clients of a topic. The controller, which creates it, knows it before.
func awaitTopic(ctx context.Context, node *kgo.Broker, topic string) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		req := kmsg.NewPtrMetadataRequest()
		asked := kmsg.NewMetadataRequestTopic()
		asked.Topic = &topic
		req.Topics = append(req.Topics, asked)
		answer, err := node.Request(ctx, req)
		if err == nil {
			err = kerr.ErrorForCode(answer.(*kmsg.MetadataResponse).Topics[0].ErrorCode)
		}
		if !errors.Is(err, kerr.UnknownTopicOrPartition) && !errors.Is(err, kerr.LeaderNotAvailable) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-again.C:
		}
	}
}

// legal keeps what a topic's name may hold, at a length that leaves room for a number.
func legal(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		default:
			return '-'
		}
	}, name)
	return name[:min(len(name), 200)]
}

// Denials is how many requests the brokers have refused for want of rights,
// according to their logs.
func (b *Broker) Denials(tb testing.TB) (n int) {
	tb.Helper()
	for node := range b.nodes {
		text, err := os.ReadFile(filepath.Join(b.dir, fmt.Sprintf("node-%d", node+1), "log"))
		if err != nil {
			tb.Fatal(err)
		}
		n += strings.Count(string(text), " is Denied operation ")
	}
	return n
}
