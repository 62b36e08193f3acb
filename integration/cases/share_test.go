package cases

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/internal/testkafka"
)

// operator administers a broker.
func operator(t *testing.T, broker *testkafka.Broker) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(broker.Addr(), ",")...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

// Brokers that do not offer share groups: refused within seconds, with the
// version or setting that is missing. Classic jobs run on them. The oldest
// broker that offers them, which does not know all settings, serves.
func TestC41(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options []testkafka.Option
		off     bool
		want    []string // in the error
	}{
		"3.9":      {[]testkafka.Option{testkafka.Version("3.9.1")}, false, []string{"4.2"}},
		"4.0":      {[]testkafka.Option{testkafka.Version("4.0.0")}, false, []string{"4.2"}},
		"4.2":      {[]testkafka.Option{testkafka.Version("4.2.0")}, false, nil},
		"off":      {[]testkafka.Option{testkafka.Version("4.2.0")}, true, []string{"share.version"}},
		"replicas": {[]testkafka.Option{testkafka.Set("share.coordinator.state.topic.replication.factor", "3")}, false, []string{"share.coordinator.state.topic.replication.factor", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			broker := testkafka.Start(t, tt.options...)
			if tt.off {
				switchShareGroupsOff(t, broker)
			}
			j := prepare(t, connect(t), broker, share, load{columns: "(id INT)"})
			messages, rows := ids(1, 3)
			j.produce(messages...)
			if tt.want != nil {
				began := time.Now()
				err := j.refused()
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("refused after %v, want seconds", took)
				}
				for _, want := range tt.want {
					if !strings.Contains(err.Message, want) {
						t.Errorf("error %v, want one with %q", err, want)
					}
				}
				j.mode = classic
			}
			j.create()
			j.settle(outcome{rows: rows}, 3, 0)
		})
	}
}

// switchShareGroupsOff takes the feature back, as kafka-features.sh does.
func switchShareGroupsOff(t *testing.T, broker *testkafka.Broker) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(broker.Addr(), ",")...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req := kmsg.NewPtrUpdateFeaturesRequest()
	feature := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	feature.Feature, feature.MaxVersionLevel, feature.UpgradeType = "share.version", 0, 2
	req.FeatureUpdates = append(req.FeatureUpdates, feature)
	resp, err := req.RequestWith(t.Context(), client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Where a job's group starts: it is pinned before the first member joins.
func TestC42(t *testing.T) {
	t.Parallel()
	middle := time.Now().Add(-time.Hour).Truncate(time.Second)
	for name, tt := range map[string]struct {
		source map[string]string
		first  int // of the 50 records that are there before
	}{
		"beginning": {map[string]string{"property.kafka_default_offsets": "OFFSET_BEGINNING"}, 0},
		"end":       {map[string]string{"property.kafka_default_offsets": "OFFSET_END"}, 50},
		"date":      {map[string]string{"property.kafka_default_offsets": middle.UTC().Format(time.DateTime)}, 25},
		"offset":    {map[string]string{"property.kafka_default_offsets": "", "kafka_partitions": "0", "kafka_offsets": "10"}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := prepare(t, connect(t), testkafka.Shared(t), share, load{columns: "(id INT)", source: tt.source, properties: map[string]string{"timezone": "UTC"}})
			messages, rows := ids(0, 59)
			for i, m := range messages[:50] {
				m.Timestamp = middle.Add(time.Duration(i-25) * time.Second)
			}
			j.produce(messages[:50]...)
			j.create()
			j.produce(messages[50:]...)
			j.settle(outcome{rows: rows[tt.first:]}, 60-tt.first, 0)
		})
	}
}

// A job that is dropped and made again with its group goes on where that is.
func TestC42Again(t *testing.T) {
	t.Parallel()
	group := fmt.Sprintf("orders-%d", time.Now().UnixNano())
	j := prepare(t, connect(t), testkafka.Shared(t), share, load{columns: "(id INT)", source: map[string]string{"property.group.id": group}})
	messages, rows := ids(0, 9)
	j.produce(messages[:5]...)
	j.create()
	j.settle(outcome{rows: rows[:5]}, 5, 0)
	j.exec("STOP ROUTINE LOAD FOR j")
	j.waitEmpty(group)
	j.produce(messages[5:]...)
	j.source["property.kafka_default_offsets"] = ""
	j.create()
	j.settle(outcome{query: "SELECT * FROM t WHERE id >= 5", rows: rows[5:]}, 5, 0)
	j.checkRows("", rows)
}

// waitEmpty waits until a share group has no member.
func (j *job) waitEmpty(group string) {
	j.t.Helper()
	j.eventually(func() error {
		described, err := j.admin().DescribeShareGroups(j.t.Context(), group)
		if err == nil && len(described[group].Members) > 0 {
			err = fmt.Errorf("%d members", len(described[group].Members))
		}
		return err
	})
}
