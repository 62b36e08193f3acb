package kafka_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/fe/kafka"
)

// join makes a member of the group, as a task would.
func join(t *testing.T, brokers []string, group, topic, member string) {
	t.Helper()
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.SubscribedTopicNames = group, member, []string{topic}
	resp, err := req.RequestWith(t.Context(), plain(t, brokers))
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		t.Fatalf("joining: %v", err)
	}
}

// acquire opens a member's share session and tells what it acquires of partition 0,
// and at which delivery.
func acquire(t *testing.T, c *kafka.Client, brokers []string, group, topic, member string) (records int64, delivery int16) {
	t.Helper()
	described, err := c.Topic(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	req := kmsg.NewPtrShareFetchRequest()
	req.GroupID, req.MemberID, req.MinBytes, req.MaxBytes, req.MaxRecords, req.BatchSize = &group, &member, 1, 1<<20, 100, 100
	req.MaxWaitMillis = 5000
	req.Topics = []kmsg.ShareFetchRequestTopic{{TopicID: described.ID, Partitions: []kmsg.ShareFetchRequestTopicPartition{{Partition: 0}}}}
	cl := plain(t, brokers)
	meta, err := kmsg.NewPtrMetadataRequest().RequestWith(t.Context(), cl)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := cl.Broker(int(meta.Brokers[0].NodeID)).Request(t.Context(), req)
	if err == nil {
		err = kerr.ErrorForCode(resp.(*kmsg.ShareFetchResponse).ErrorCode)
	}
	if err != nil {
		t.Fatalf("fetching as %s: %v", member, err)
	}
	for _, rt := range resp.(*kmsg.ShareFetchResponse).Topics {
		for _, p := range rt.Partitions {
			for _, r := range p.AcquiredRecords {
				records, delivery = records+r.LastOffset-r.FirstOffset+1, r.DeliveryCount
			}
		}
	}
	return records, delivery
}

// walk takes a group through its life: what CREATE, PAUSE, RESUME and STOP do.
func walk(t *testing.T, brokers []string, topic string, partitions int32) {
	ctx := t.Context()
	c := dial(t, brokers, nil)
	const group, member = "shoal-test-1", "3f9d6d61-5f0a-4b0e-8f0c-0a1b2c3d4e5f"

	settings, err := c.Configure(ctx, group, kafka.Wanted{Lock: 20 * time.Second})
	if err != nil || len(settings.Notes) != 0 || settings.Lock != 20*time.Second || settings.DeliveryLimit != 10 {
		t.Fatalf("Configure = %+v, %v", settings, err)
	}
	if again, err := c.Configure(ctx, group, kafka.Wanted{Lock: 20 * time.Second}); err != nil || again.Lock != settings.Lock {
		t.Fatalf("Configure again = %+v, %v", again, err)
	}
	starts := make(map[int32]int64)
	for p := range partitions {
		starts[p] = 2
	}
	if err := c.Pin(ctx, group, topic, starts); err != nil {
		t.Fatalf("Pin: %v", err)
	}
	positions, err := c.Positions(ctx, group, topic)
	if err != nil || len(positions) != int(partitions) || positions[0].Start != 2 || positions[0].Lag != 3 {
		t.Fatalf("Positions = %v, %v; want start 2 and lag 3 in partition 0", positions, err)
	}
	view := c.Look(ctx, group, topic)
	if view.Err != nil || view.Partitions[0] != (kafka.Partition{Log: kafka.Log{End: 5, StableEnd: 5}, Position: positions[0]}) {
		t.Fatalf("Look = %+v", view)
	}

	join(t, brokers, group, topic, member)
	if members, err := c.Members(ctx, group); err != nil || len(members) != 1 || members[0].ID != member {
		t.Fatalf("Members = %v, %v", members, err)
	}
	if err := c.Pin(ctx, group, topic, starts); !errors.Is(err, kafka.ErrNotEmpty) {
		t.Fatalf("Pin of a group with members = %v, want ErrNotEmpty", err)
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := c.AwaitEmpty(short, group); !errors.Is(err, kafka.ErrNotEmpty) {
		t.Fatalf("AwaitEmpty = %v, want ErrNotEmpty", err)
	}
	if n, delivery := acquire(t, c, brokers, group, topic, member); n != 3 || delivery != 1 {
		t.Fatalf("the member acquired %d records at delivery %d, want 3 at 1", n, delivery)
	}
	if err := c.Leave(ctx, group, member, "never-was-here"); err != nil {
		t.Fatalf("Leave: %v", err)
	}
	const next = "7c1b9d61-5f0a-4b0e-8f0c-0a1b2c3d4e5f"
	join(t, brokers, group, topic, next)
	if n, delivery := acquire(t, c, brokers, group, topic, next); n != 3 || delivery != 2 {
		t.Fatalf("after the member left on its behalf another acquired %d records at delivery %d, want its 3 at 2", n, delivery)
	}
	if err := c.Leave(ctx, group, next); err != nil {
		t.Fatalf("Leave: %v", err)
	}
	if err := c.AwaitEmpty(ctx, group); err != nil {
		t.Fatalf("AwaitEmpty after all left: %v", err)
	}
	for range 2 { // deleted twice is deleted
		if err := c.DeleteGroup(ctx, group); err != nil {
			t.Fatalf("DeleteGroup: %v", err)
		}
	}
	if positions, err := c.Positions(ctx, group, topic); err != nil || len(positions) != 0 {
		t.Fatalf("Positions of a deleted group = %v, %v", positions, err)
	}
}

func TestGroupOnFake(t *testing.T) {
	cluster := fake(t, kfake.SeedTopics(2, "t"))
	produce(t, cluster.ListenAddrs(), "t", 0, 5, time.Now())
	walk(t, cluster.ListenAddrs(), "t", 2)
}

// What the ACLs forbid becomes a note; the job runs with what there is.
func TestConfigureDenied(t *testing.T) {
	cluster := fake(t, kfake.SeedTopics(1, "t"))
	c := dial(t, cluster.ListenAddrs(), nil)
	if _, err := c.Configure(t.Context(), "set up before", kafka.Wanted{Lock: 20 * time.Second}); err != nil {
		t.Fatal(err)
	}
	cluster.ControlKey(kmsg.IncrementalAlterConfigs.Int16(), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		req := kreq.(*kmsg.IncrementalAlterConfigsRequest)
		resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
		for _, r := range req.Resources {
			denied := kmsg.NewIncrementalAlterConfigsResponseResource()
			denied.ResourceType, denied.ResourceName = r.ResourceType, r.ResourceName
			denied.ErrorCode = kerr.GroupAuthorizationFailed.Code
			resp.Resources = append(resp.Resources, denied)
		}
		return resp, nil, true
	})
	settings, err := c.Configure(t.Context(), "set up before", kafka.Wanted{})
	if err != nil || len(settings.Notes) != 1 || settings.Lock != 20*time.Second || !strings.Contains(settings.Notes[0], "GROUP_AUTHORIZATION_FAILED") {
		t.Errorf("Configure = %+v, %v; want a note and the lock of 20 s as before", settings, err)
	}
	for group, wanted := range map[string]kafka.Wanted{
		"new":           {}, // would read uncommitted records
		"set up before": {Lock: 25 * time.Second},
	} {
		if settings, err := c.Configure(t.Context(), group, wanted); err == nil || !strings.Contains(err.Error(), "GROUP_AUTHORIZATION_FAILED") {
			t.Errorf("Configure of group '%s' = %+v, %v; want an error: it would not be as asked", group, settings, err)
		}
	}
}

// What a job asks for beyond the broker's limits is refused, with both.
func TestConfigureLimits(t *testing.T) {
	c := dial(t, fake(t).ListenAddrs(), nil)
	for setting, wanted := range map[string]kafka.Wanted{
		"share.record.lock.duration.ms = 1000":    {Lock: time.Second},
		"share.delivery.count.limit = 11":         {DeliveryLimit: 11},
		"share.partition.max.record.locks = 9999": {MaxRecordLocks: 9999},
	} {
		if _, err := c.Configure(t.Context(), "g", wanted); err == nil || !strings.Contains(err.Error(), setting) || !strings.Contains(err.Error(), "group.share.max.") {
			t.Errorf("Configure(%+v) = %v, want an error with %s and the broker's setting", wanted, err, setting)
		}
	}
}

// A topic that was created a moment ago is pinned once the broker knows it.
func TestPinRetries(t *testing.T) {
	cluster := fake(t, kfake.SeedTopics(1, "t"))
	fault := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.AlterShareGroupOffsets}, Topic: "t", Err: kerr.UnknownTopicOrPartition, Count: 2})
	if err := dial(t, cluster.ListenAddrs(), nil).Pin(t.Context(), "g", "t", map[int32]int64{0: 0}); err != nil {
		t.Errorf("Pin = %v after two refusals", err)
	}
	if fault.Hits() != 2 {
		t.Errorf("%d refusals were met, want 2", fault.Hits())
	}
}

func TestPinUnknownPartition(t *testing.T) {
	cluster := fake(t, kfake.SeedTopics(1, "t"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := dial(t, cluster.ListenAddrs(), nil).Pin(ctx, "g", "t", map[int32]int64{0: 0, 9: 0})
	if !errors.Is(err, kafka.ErrNoTopic) {
		t.Errorf("Pin of a partition that is not there = %v", err)
	}
}
