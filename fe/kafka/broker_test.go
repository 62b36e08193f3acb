package kafka_test

import (
	"strings"
	"testing"
	"time"

	"shoal/internal/testkafka"
)

func TestGroupOnBroker(t *testing.T) {
	broker := testkafka.Shared(t)
	topic := broker.CreateTopic(t, 2, nil)
	produce(t, addrs(broker), topic, 0, 5, time.Now())
	c := dial(t, addrs(broker), nil)
	if err := c.CheckShareGroups(t.Context()); err != nil {
		t.Fatalf("CheckShareGroups: %v", err)
	}
	walk(t, addrs(broker), topic, 2)
}

func addrs(b *testkafka.Broker) []string { return strings.Split(b.Addr(), ",") }
