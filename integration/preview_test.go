package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestPreview: people look at a topic's records before they make a job.
func TestPreview(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := &load{t: t, db: shoal.DB(), broker: broker, topic: broker.CreateTopic(t, 2, nil)}
	client := l.client()
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	records := []*kgo.Record{
		{Partition: 0, Timestamp: at, Key: []byte("k1"), Value: []byte("größe"), Headers: []kgo.RecordHeader{{Key: "trace", Value: []byte("t-1")}, {Key: "none"}}},
		{Partition: 0, Timestamp: at.Add(time.Hour), Key: []byte("k2")}, // a tombstone
		{Partition: 1, Timestamp: at.Add(2 * time.Hour), Value: []byte("\xff\x00x")},
		{Partition: 1, Timestamp: at.Add(3 * time.Hour), Value: []byte{}},
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	from := func(more string) string {
		return fmt.Sprintf(`FROM kafka("broker"=%q, "topic"=%q%s)`, broker.Addr(), l.topic, more)
	}
	all := []string{
		`0 0 2026-01-31 12:00:00.000 k1 größe {"none":null, "trace":"t-1"}`, `0 1 2026-01-31 13:00:00.000 k2 NULL {}`,
		`1 0 2026-01-31 14:00:00.000 NULL \xFF` + "\x00x {}", `1 1 2026-01-31 15:00:00.000 NULL  {}`,
	}
	cluster.Eventually(t, limit, func() error { // until a backend can read
		_, err := cluster.Rows(t.Context(), l.db, "SELECT 1 "+from("")+" LIMIT 1")
		return err
	})
	for query, want := range map[string][]string{
		"SELECT * " + from("") + " LIMIT 10":                                                                all,
		"SELECT * " + from(`, "offsets"="OFFSET_END"`) + " LIMIT 2":                                         {all[1], all[3]},
		"SELECT * " + from(`, "offsets"="2026-01-31 13:00:00"`) + " LIMIT 1000":                             all[1:],
		"SELECT * " + from(`, "offsets"="1:1"`) + " AS k LIMIT 10":                                          all[3:],
		"SELECT * " + from("") + " WHERE key = 'k2' LIMIT 1":                                                {all[1]},
		"SELECT * " + from("") + " WHERE element_at(headers, 'trace') = 't-1' AND partition < 1 LIMIT 1000": {all[0]},
	} {
		if got := l.previewed(query); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", query, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for query, want := range map[string]string{
		"SELECT * " + from(""):                                                                            "without LIMIT (up to 1000)",
		"SELECT * " + from(`, "offsets"="0:99"`) + " LIMIT 1":                                             "offset 99 is out of range",
		"SELECT * " + from(`, "offsets"="7:0"`) + " LIMIT 1":                                              "has no partition 7",
		"SELECT * " + from(`, "property.acks_"="1"`) + " LIMIT 1":                                         "acks_",
		fmt.Sprintf(`SELECT * FROM kafka("broker"=%q, "topic"="no-such-topic") LIMIT 1`, broker.Addr()):   "no-such-topic",
		fmt.Sprintf(`SELECT * FROM kafka("broker"=%q, "topic"=%q) LIMIT 1`, cluster.FreeAddr(t), l.topic): "kafka(…)",
	} {
		if _, err := cluster.Rows(t.Context(), l.db, query); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", query, err, want)
		}
	}
}

// previewed is the rows of a query of kafka(…), without the topic.
func (l *load) previewed(statement string) []string {
	l.t.Helper()
	var out []string
	for _, line := range query(l.t, l.db, statement) {
		if line["topic"] != l.topic {
			l.t.Errorf("topic is %s", line["topic"])
		}
		var cells []string
		for _, name := range []string{"partition", "offset", "timestamp", "key", "value", "headers"} {
			cells = append(cells, line[name])
		}
		out = append(out, strings.Join(cells, " "))
	}
	return out
}
