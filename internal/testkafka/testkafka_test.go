package testkafka_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"shoal/internal/testdeps"
	"shoal/internal/testkafka"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

// victim in the environment makes this binary a process that starts a broker and waits to be killed.
const victim = "SHOAL_TESTKAFKA_VICTIM"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a client of the broker that is closed with the test.
func newClient(t *testing.T, b *testkafka.Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(strings.Split(b.Addr(), ",")...))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// await reads topic through a share group until it meets a record with value.
func await(t *testing.T, b *testkafka.Broker, group, topic, value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := newClient(t, b, kgo.ShareGroup(group), kgo.ConsumeTopics(topic))
	for found := false; !found; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("waiting for %q: %v", value, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { found = found || string(r.Value) == value })
	}
}

// TestShareGroup sees a share group through a client, through Kafka's own tool, and again after kill -9.
func TestShareGroup(t *testing.T) {
	b := testkafka.Start(t)
	topic := b.CreateTopic(t, 1, map[string]string{"retention.ms": "-1"})
	group := "group-of-" + topic
	produce := func(value string) {
		t.Helper()
		record := &kgo.Record{Topic: topic, Value: []byte(value)}
		if err := newClient(t, b).ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	b.Tool(t, "ConfigCommand", "--alter", "--entity-type", "groups", "--entity-name", group,
		"--add-config", "share.auto.offset.reset=earliest")
	produce("before")
	await(t, b, group, topic, "before")
	if out := b.Tool(t, "ShareGroupCommand", "--list"); !strings.Contains(out, group) {
		t.Errorf("ShareGroupCommand --list does not show %s:\n%s", group, out)
	}

	b.Kill(t, 1)
	b.Restart(t, 1)
	produce("after")
	await(t, b, group, topic, "after")
}

func TestThreeNodes(t *testing.T) {
	b := testkafka.Start(t, testkafka.Nodes(3))
	topic := b.CreateTopic(t, 3, nil)
	b.Kill(t, 3)
	b.Restart(t, 3)
	details, err := kadm.NewClient(newClient(t, b)).ListTopics(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range details[topic].Partitions.Sorted() {
		if len(p.Replicas) != 3 {
			t.Errorf("partition %d has replicas %v, want three", p.Partition, p.Replicas)
		}
	}
}

// TestKilledBinary starts a broker in another process, kills that process with SIGKILL, and waits until the broker's
// folder is gone, which is the last thing to go.
func TestKilledBinary(t *testing.T) {
	if os.Getenv(victim) != "" {
		fmt.Println("folder", testkafka.Dir(testkafka.Shared(t)))
		select {}
	}
	testkafka.Shared(t) // fails or skips here where there is no Kafka
	other := exec.Command(os.Args[0], "-test.run=^TestKilledBinary$")
	other.Env = append(os.Environ(), victim+"=1")
	stdout, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	other.Process.Kill()
	other.Wait()
	dir, found := strings.CutPrefix(strings.TrimSpace(line), "folder ")
	if !found {
		t.Fatalf("the other process said %q (%v), not its broker's folder", line, err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there a minute after its owner was killed", dir)
		}
		time.Sleep(20 * time.Millisecond) // a poll: another process's end gives no event here
	}
}

// TestRefusal: what the script says reaches the test.
func TestRefusal(t *testing.T) {
	testdeps.Skip(t, testdeps.Kafka)
	_, err := testkafka.TryStart(testkafka.Set("num.io.threads", "-4"))
	if err == nil || !strings.Contains(err.Error(), "num.io.threads") {
		t.Errorf("a broker with -4 threads: %v; want an error that names num.io.threads", err)
	}
}
