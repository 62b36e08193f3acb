package share_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/share"
	"shoal/internal/testkafka"
)

// A place is a topic and a group on the real broker, shared with no other test.
type place struct {
	t     testing.TB
	addr  string
	topic string
	group string
	prod  *kgo.Client
}

// config is topic or group configs.
type config map[string]string

// onBroker makes a place on the broker that all tests share.
func onBroker(t testing.TB, partitions int, topic, group config) *place {
	t.Helper()
	return placeOn(t, testkafka.Shared(t), partitions, topic, group)
}

// placeOn makes a place whose group starts at the earliest offset.
func placeOn(t testing.TB, broker *testkafka.Broker, partitions int, topic, group config) *place {
	t.Helper()
	p := &place{t: t, addr: broker.Addr(), topic: broker.CreateTopic(t, partitions, topic)}
	p.prod = p.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(20<<20), kgo.ProducerBatchCompression(kgo.NoCompression()))
	p.group = p.newGroup(group)
	return p
}

// newGroup names a group and sets its configs.
func (p *place) newGroup(configs config) string {
	p.t.Helper()
	group := fmt.Sprintf("%s-%d", p.topic, time.Now().UnixNano())
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	set := func(name, value string) {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op, c.Value = name, kmsg.IncrementalAlterConfigOpSet, &value
		resource.Configs = append(resource.Configs, c)
	}
	set("share.auto.offset.reset", "earliest")
	for name, value := range configs {
		set(name, value)
	}
	req.Resources = append(req.Resources, resource)
	resp, err := req.RequestWith(context.Background(), p.prod)
	if err == nil {
		err = kerr.ErrorForCode(resp.Resources[0].ErrorCode)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return group
}

func (p *place) client(opts ...kgo.Opt) *kgo.Client {
	p.t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(strings.Split(p.addr, ",")...))...)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(client.Close)
	return client
}

func (p *place) join() *member {
	return join(p.t, p.client(share.ClientOptions()...), p.group, p.topic)
}

// produce writes one batch of n records.
func (p *place) produce(partition int32, n int) { produce(p.t, p.prod, p.topic, partition, n) }

// lag is how many records are not done with.
func (p *place) lag() (lag int64) {
	p.t.Helper()
	described, err := kadm.NewClient(p.prod).DescribeShareGroupOffsets(p.t.Context(), p.group)
	if err == nil {
		err = described.Error()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	for _, partitions := range described[p.group].Offsets {
		for _, o := range partitions {
			lag += o.Lag
		}
	}
	return lag
}

func (p *place) members() int {
	p.t.Helper()
	described, err := kadm.NewClient(p.prod).DescribeShareGroups(p.t.Context(), p.group)
	if err != nil {
		p.t.Fatal(err)
	}
	return len(described[p.group].Members)
}

func (p *place) wantLag(want int64) {
	p.t.Helper()
	if got := p.lag(); got != want {
		p.t.Errorf("lag = %d, want %d", got, want)
	}
}
