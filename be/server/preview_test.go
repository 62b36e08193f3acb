package server

import (
	"log/slog"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	backendv1 "shoal/proto/backend/v1"
)

// What a record has, and what it lacks, comes through.
func TestReadRecords(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	producer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	records := []*kgo.Record{
		{Key: []byte("k"), Value: []byte("v"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("x")}, {Key: "h"}}},
		{Key: []byte{}, Value: nil},
		{Value: []byte{}},
	}
	if err := producer.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	id := cluster.TopicInfo("t").TopicID
	req := &backendv1.ReadRecordsRequest{Brokers: cluster.ListenAddrs(), Topic: "t", Limit: 10,
		Starts: []*backendv1.PartitionStart{{TopicId: id[:]}}}
	p := previewer{slog.New(slog.DiscardHandler)}
	got, err := p.ReadRecords(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := proto.Marshal(got) // as a frontend sees it
	if err != nil {
		t.Fatal(err)
	}
	got = &backendv1.ReadRecordsResponse{}
	if err := proto.Unmarshal(wire, got); err != nil {
		t.Fatal(err)
	}
	want := &backendv1.ReadRecordsResponse{Records: []*backendv1.KafkaRecord{
		{Offset: 0, Key: []byte("k"), Value: []byte("v"), Headers: []*backendv1.Header{{Name: "h", Value: []byte("x")}, {Name: "h"}}},
		{Offset: 1, Key: []byte{}},
		{Offset: 2, Value: []byte{}},
	}}
	for i, r := range want.Records {
		r.TimestampMs = records[i].Timestamp.UnixMilli()
	}
	if !proto.Equal(got, want) {
		t.Errorf("records are %v, want %v", got, want)
	}
	req.Starts[0].TopicId = id[:5]
	if _, err := p.ReadRecords(t.Context(), req); err == nil {
		t.Error("a topic id of five bytes is no error")
	}
	req.Starts, req.CustomProperties = nil, map[string]string{"no.such": "x"}
	if _, err := p.ReadRecords(t.Context(), req); err == nil {
		t.Error("an unknown property is no error")
	}
}
