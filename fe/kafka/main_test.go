package kafka_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"shoal/fe/kafka"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake starts an embedded broker.
func fake(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

// dial makes a client that is closed with the test.
func dial(t *testing.T, brokers []string, properties map[string]string) *kafka.Client {
	t.Helper()
	c, err := kafka.Dial(brokers, properties, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// plain makes a client of the library's own, for what the tests do to a broker.
func plain(t *testing.T, brokers []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(brokers...)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// produce writes n records to one partition and waits for them.
func produce(t *testing.T, brokers []string, topic string, partition int32, n int, at time.Time) {
	t.Helper()
	cl := plain(t, brokers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for range n {
		r := &kgo.Record{Topic: topic, Partition: partition, Value: []byte("x"), Timestamp: at}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}
