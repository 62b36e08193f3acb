package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/be/deadletter"
	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// letters are the messages of a topic, by the offset that they had in their own.
type letters map[string][]*kgo.Record

func header(r *kgo.Record, name string) string {
	value := "none"
	for _, h := range r.Headers {
		if h.Key == name {
			value = string(h.Value)
		}
	}
	return value
}

// deadLetters reads a topic until it has messages of n offsets.
func (l *load) deadLetters(topic string, n int) letters {
	l.t.Helper()
	client := l.client(kgo.ConsumeTopics(topic))
	ctx, cancel := context.WithTimeout(l.t.Context(), limit)
	defer cancel()
	found := letters{}
	for len(found) < n {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			l.t.Fatalf("%d of %d dead letters came; %s", len(found), n, l.status()["OtherMsg"])
		}
		for _, r := range fetches.Records() {
			offset := header(r, deadletter.HeaderOffset)
			found[offset] = append(found[offset], r)
		}
	}
	return found
}

// TestDeadLetters: each message with an error row is in the dead letter topic
// as it was, though the backend dies when it has produced them and before the
// frontend knows, and then the frontend dies.
func TestDeadLetters(t *testing.T) { inBothModes(t, deadLetters) }

func deadLetters(t *testing.T, mode string) {
	broker := testkafka.Shared(t)
	fe := cluster.Start(t, "fe", "--bootstrap")
	be := cluster.New(t, "be", "--fe", fe.Ready.RPC)
	be.Setenv("SHOAL_DIE_AFTER_DELIVERIES", "1")
	be.Run()
	dead := broker.CreateTopic(t, 2, nil)
	l := setUp(t, fe.DB(), broker, options{partitions: 1, properties: map[string]string{
		"load_mode": mode, "format": "json", "max_error_number": "100", "dead_letter_topic": dead}})
	client := l.client()
	produce := func(first, n int) { // every third is bad
		t.Helper()
		var records []*kgo.Record
		for id := first; id < first+n; id++ {
			r := &kgo.Record{Key: fmt.Append(nil, "key", id), Value: []byte(row(id, 0)), Headers: []kgo.RecordHeader{{Key: "trace", Value: fmt.Append(nil, id)}}}
			if id%3 == 0 {
				r.Value = fmt.Appendf(nil, `{"id":%d,"part":`, id)
			}
			records = append(records, r)
		}
		if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	produce(0, 30)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := be.Wait(ctx); err != nil { // it died with the first letters produced
		t.Fatal(err)
	}
	be.ClearEnv()
	be.Run()
	produce(30, 30)
	l.waitRows(40)
	l.deadLetters(dead, 20)
	fe.Kill()
	fe.Run()
	produce(60, 30)
	l.waitRows(60)
	found := l.deadLetters(dead, 30)
	again := 0
	for offset, list := range found {
		again += len(list) - 1
		for _, r := range list {
			value := fmt.Sprintf(`{"id":%s,"part":`, offset)
			if string(r.Key) != "key"+offset || string(r.Value) != value || header(r, "trace") != offset ||
				header(r, deadletter.HeaderTopic) != l.topic || header(r, deadletter.HeaderPartition) != "0" || header(r, deadletter.HeaderJob) != l.table ||
				!strings.HasPrefix(header(r, deadletter.HeaderReason), "not valid JSON") || header(r, deadletter.HeaderTable) != "t" {
				t.Errorf("offset %s is key %q, value %q, headers %q", offset, r.Key, r.Value, r.Headers)
			}
		}
	}
	if again == 0 {
		t.Error("no message came twice: the backend did not die between producing and telling")
	}
	if s := l.statistic(); s.Errors != 30 || s.Loaded != 60 {
		t.Errorf("statistic %+v", s)
	}
	if lines := query(t, l.db, "SELECT count(*) AS n FROM information_schema.routine_load_errors WHERE job_name = 't' AND db_name = '"+l.database()+"'"); lines[0]["n"] != "30" {
		t.Errorf("routine_load_errors has %v", lines)
	}
}

// TestDeadLettersWait: a job loads while its dead letter topic is not there,
// and says what waits. Nothing of it is forgotten.
func TestDeadLettersWait(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	fe, _ := startCluster(t, 1)
	dead := broker.CreateTopic(t, 1, nil)
	l := setUp(t, fe.DB(), broker, options{partitions: 1, properties: map[string]string{
		"format": "json", "max_error_number": "100", "dead_letter_topic": dead}})
	broker.Tool(t, "org.apache.kafka.tools.TopicCommand", "--delete", "--topic", dead)
	client := l.client()
	l.produce(client, 0, row(1, 0), "[", row(2, 0))
	l.waitRows(2)
	cluster.Eventually(t, limit, func() error {
		if text := l.status()["OtherMsg"]; !strings.Contains(text, "Dead letters (error rowsets: ") || !strings.Contains(text, dead) {
			return fmt.Errorf("OtherMsg is %q", text)
		}
		return nil
	})
	broker.Tool(t, "org.apache.kafka.tools.TopicCommand", "--create", "--topic", dead, "--partitions", "1")
	found := l.deadLetters(dead, 1)
	if r := found["1"][0]; string(r.Value) != "[" || r.Key != nil {
		t.Errorf("the dead letter is key %q, value %q", r.Key, r.Value)
	}
	cluster.Eventually(t, time.Minute, func() error {
		if text := l.status()["OtherMsg"]; strings.Contains(text, "Dead letters") {
			return fmt.Errorf("OtherMsg is %q", text)
		}
		return nil
	})
}
