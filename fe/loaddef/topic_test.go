package loaddef_test

import (
	"strings"
	"testing"
	"time"

	"shoal/fe/loaddef"
	"shoal/sql/ast"
)

func properties(pairs ...string) ast.Properties {
	var out ast.Properties
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, ast.Property{Key: pairs[i], Value: pairs[i+1]})
	}
	return out
}

func TestReadTopic(t *testing.T) {
	topic, err := loaddef.ReadTopic(properties("Broker", "a:1, b:2", "topic", "t", "property.security.protocol", "ssl", "property.isolation.level", "read_uncommitted"), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	if l := topic.Load; strings.Join(l.Brokers, " ") != "a:1 b:2" || l.Topic != "t" || l.CustomProperties["security.protocol"] != "ssl" || !l.ReadUncommitted || topic.Last || topic.Offsets != nil {
		t.Errorf("got %v", topic)
	}
	for offsets, holds := range map[string]func(*loaddef.Topic) bool{
		"OFFSET_BEGINNING":    func(t *loaddef.Topic) bool { return !t.Last && t.Offsets == nil && !t.Start.Timed() },
		"offset_end":          func(t *loaddef.Topic) bool { return t.Last },
		"2026-01-31 12:00:00": func(t *loaddef.Topic) bool { return t.Start.Timed() && t.Offsets == nil },
		"0:5, 3 : 7":          func(t *loaddef.Topic) bool { return len(t.Offsets) == 2 && !t.Last },
	} {
		topic, err := loaddef.ReadTopic(properties("broker", "a:1", "topic", "t", "offsets", offsets), time.UTC)
		if err != nil || !holds(topic) {
			t.Errorf("%s: got %+v, %v", offsets, topic, err)
		}
	}
}

func TestReadTopicRefuses(t *testing.T) {
	for _, c := range []struct {
		pairs []string
		want  string
	}{
		{[]string{"topic", "t"}, `needs "broker"`},
		{[]string{"broker", "a:1"}, `needs "topic"`},
		{[]string{"broker", "nohost", "topic", "t"}, "'nohost' is not host:port"},
		{[]string{"broker", "a:1", "topic", "t u,v"}, "one topic is supported"},
		{[]string{"broker", "a:1", "topc", "t"}, "unknown property 'topc', did you mean 'topic'?"},
		{[]string{"broker", "a:1", "topic", "t", "kafka_offsets", "1"}, "unknown property 'kafka_offsets'"},
		{[]string{"broker", "a:1", "topic", "t", "property.kafka_default_offsets", "OFFSET_END"}, "has no meaning here"},
		{[]string{"broker", "a:1", "topic", "t", "offsets", "yesterday"}, "'yesterday' is none of OFFSET_BEGINNING"},
		{[]string{"broker", "a:1", "topic", "t", "offsets", "0:1,0:2"}, "partition 0 twice"},
		{[]string{"broker", "a:1", "topic", "t", "offsets", "99999999999:2"}, "which no topic has"},
	} {
		if _, err := loaddef.ReadTopic(properties(c.pairs...), time.UTC); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %s", c.pairs, err, c.want)
		}
	}
}
