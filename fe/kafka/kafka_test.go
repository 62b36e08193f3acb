package kafka_test

import (
	"errors"
	"log/slog"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"shoal/fe/kafka"
	typesv1 "shoal/proto/types/v1"
)

func TestPing(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := closed.Addr().String()
	closed.Close()
	live := fake(t).ListenAddrs()[0]

	if err := dial(t, []string{dead, live}, nil).Ping(t.Context()); err != nil {
		t.Errorf("one of two answers, yet: %v", err)
	}
	err = dial(t, []string{dead}, nil).Ping(t.Context())
	if !errors.Is(err, kafka.ErrUnreachable) || !strings.Contains(err.Error(), dead) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Ping of a closed port = %v; want ErrUnreachable, the address and the reason", err)
	}
}

func TestPingWrongPassword(t *testing.T) {
	cluster := fake(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "admin", "right"))
	properties := map[string]string{
		"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN",
		"sasl.username": "admin", "sasl.password": "not-this",
	}
	err := dial(t, cluster.ListenAddrs(), properties).Ping(t.Context())
	if err == nil || !strings.Contains(err.Error(), "refused the credentials") || strings.Contains(err.Error(), "not-this") {
		t.Errorf("Ping = %v, want refused credentials and no password", err)
	}
	properties["sasl.password"] = "right"
	if err := dial(t, cluster.ListenAddrs(), properties).Ping(t.Context()); err != nil {
		t.Errorf("Ping with the right password: %v", err)
	}
}

func TestTopic(t *testing.T) {
	cluster := fake(t, kfake.SeedTopics(3, "orders"), kfake.AllowAutoTopicCreation())
	c := dial(t, cluster.ListenAddrs(), nil)
	topic, err := c.Topic(t.Context(), "orders")
	if err != nil || len(topic.Partitions) != 3 || topic.ID == (kafka.TopicID{}) {
		t.Errorf("Topic = %+v, %v", topic, err)
	}
	for range 2 { // a look must not create what it looks for
		if _, err := c.Topic(t.Context(), "nosuch"); !errors.Is(err, kafka.ErrNoTopic) || !strings.Contains(err.Error(), "nosuch") {
			t.Errorf("Topic of an unknown name = %v, want ErrNoTopic", err)
		}
	}
}

func TestResolve(t *testing.T) {
	cluster := fake(t, kfake.SeedTopics(2, "t"))
	old, young := time.UnixMilli(1_700_000_000_000), time.UnixMilli(1_700_000_600_000)
	produce(t, cluster.ListenAddrs(), "t", 0, 3, old)
	produce(t, cluster.ListenAddrs(), "t", 0, 2, young)
	c := dial(t, cluster.ListenAddrs(), nil)
	zone := time.FixedZone("", 8*3600)
	tests := []struct {
		spec string
		want map[int32]int64
	}{
		{"OFFSET_BEGINNING", map[int32]int64{0: 0, 1: 0}},
		{"offset_end", map[int32]int64{0: 5, 1: 0}},
		{"", map[int32]int64{0: 5, 1: 0}},
		{old.Add(time.Second).In(zone).Format(time.DateTime), map[int32]int64{0: 3, 1: 0}},
		{young.Add(time.Hour).In(zone).Format(time.DateTime), map[int32]int64{0: 5, 1: 0}},
	}
	for _, tt := range tests {
		start, err := kafka.ParseDefaultStart(tt.spec, zone)
		if err != nil {
			t.Errorf("%q: %v", tt.spec, err)
			continue
		}
		got, err := c.Resolve(t.Context(), "t", map[int32]kafka.Start{0: start, 1: start})
		if err != nil || !maps.Equal(got, tt.want) {
			t.Errorf("Resolve(%q) = %v, %v; want %v", tt.spec, got, err, tt.want)
		}
	}
	for _, bad := range []string{"5", "OFFSET_MIDDLE", "2026-13-01 00:00:00"} {
		if _, err := kafka.ParseDefaultStart(bad, zone); err == nil {
			t.Errorf("ParseDefaultStart(%q) has no error", bad)
		}
	}
}

func TestResolveOffsets(t *testing.T) {
	cluster := fake(t, kfake.SeedTopics(2, "t"))
	produce(t, cluster.ListenAddrs(), "t", 0, 5, time.UnixMilli(1_700_000_000_000))
	c := dial(t, cluster.ListenAddrs(), nil)
	for _, tt := range []struct {
		spec      string
		partition int32
		want      int64
		err       string
	}{
		{"3", 0, 3, ""},
		{"5", 0, 5, ""},
		{"OFFSET_ZERO", 1, 0, ""},
		{"offset_end", 0, 5, ""},
		{"6", 0, 0, "offset 6 is out of range in topic 't', partition 0: a job can begin at offsets 0 to 5"},
		{"1", 1, 0, "partition 1: a job can begin at offsets 0 to 0"},
		{"OFFSET_BEGINNING", 7, 0, "topic 't' has no partition 7, but 0 to 1"},
	} {
		start, err := kafka.ParseStart(tt.spec, time.UTC)
		if err != nil {
			t.Errorf("%q: %v", tt.spec, err)
			continue
		}
		got, err := c.Resolve(t.Context(), "t", map[int32]kafka.Start{tt.partition: start})
		if tt.err == "" && (err != nil || got[tt.partition] != tt.want || len(got) != 1) || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%q of partition %d: %v, %v; want %d, %q", tt.spec, tt.partition, got, err, tt.want, tt.err)
		}
	}
	for _, bad := range []string{"", "-1", "1.5", "9223372036854775808", "OFFSET_MIDDLE"} {
		if _, err := kafka.ParseStart(bad, time.UTC); err == nil {
			t.Errorf("ParseStart(%q) has no error", bad)
		}
	}
}

func TestCheckShareGroups(t *testing.T) {
	if err := dial(t, fake(t).ListenAddrs(), nil).CheckShareGroups(t.Context()); err != nil {
		t.Errorf("a broker with share groups: %v", err)
	}
	old := fake(t, kfake.MaxVersions(kversion.V3_9_0()))
	err := dial(t, old.ListenAddrs(), nil).CheckShareGroups(t.Context())
	if !errors.Is(err, kafka.ErrNoShareGroups) || !strings.Contains(err.Error(), "ShareGroupHeartbeat") || !strings.Contains(err.Error(), "4.2") {
		t.Errorf("a 3.9 broker: %v", err)
	}
}

func TestCheckShareGroupsSwitchedOff(t *testing.T) {
	cluster := fake(t)
	req := kmsg.NewPtrUpdateFeaturesRequest()
	feature := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	feature.Feature, feature.MaxVersionLevel, feature.UpgradeType = "share.version", 0, 2
	req.FeatureUpdates = append(req.FeatureUpdates, feature)
	resp, err := req.RequestWith(t.Context(), plain(t, cluster.ListenAddrs()))
	if err != nil || resp.ErrorCode != 0 {
		t.Fatalf("downgrading the feature: %v %v", err, kerr.ErrorForCode(resp.ErrorCode))
	}
	err = dial(t, cluster.ListenAddrs(), nil).CheckShareGroups(t.Context())
	if !errors.Is(err, kafka.ErrNoShareGroups) || !strings.Contains(err.Error(), "upgrade --feature share.version=1") {
		t.Errorf("CheckShareGroups = %v, want how to switch it on", err)
	}
}

// A one-node broker whose internal topic wants three replicas never forms a
// group; the error names the setting.
func TestCheckShareGroupsReplicas(t *testing.T) {
	const setting = "share.coordinator.state.topic.replication.factor"
	cluster := fake(t)
	cluster.ControlKey(kmsg.DescribeConfigs.Int16(), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		resource := kmsg.NewDescribeConfigsResponseResource()
		config := kmsg.NewDescribeConfigsResponseResourceConfig()
		config.Name, config.Value = setting, kmsg.StringPtr("3")
		resource.Configs = append(resource.Configs, config)
		resp := kreq.ResponseKind().(*kmsg.DescribeConfigsResponse)
		resp.Resources = append(resp.Resources, resource)
		return resp, nil, true
	})
	err := dial(t, cluster.ListenAddrs(), nil).CheckShareGroups(t.Context())
	if !errors.Is(err, kafka.ErrNoShareGroups) || !strings.Contains(err.Error(), setting) {
		t.Errorf("CheckShareGroups = %v, want the setting named", err)
	}
}

func TestPool(t *testing.T) {
	pool := kafka.NewPool(slog.New(slog.DiscardHandler), kafka.Plain)
	load := &typesv1.RoutineLoad{Brokers: []string{"127.0.0.1:1"}}
	first, err := pool.Client(1, 1, load)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := pool.Client(1, 1, load); again != first {
		t.Error("the same job got another client")
	}
	moved, _ := pool.Client(1, 1, &typesv1.RoutineLoad{Brokers: []string{"127.0.0.1:2"}})
	if moved == first {
		t.Error("other brokers, the same client")
	}
	pool.Retain(func(id uint64) bool { return id != 1 })
	if again, _ := pool.Client(1, 1, load); again == moved {
		t.Error("a client that was not retained is given again")
	}
	pool.Close()
	if _, err := pool.Client(1, 1, load); err == nil {
		t.Error("a closed pool gives clients")
	}
}
