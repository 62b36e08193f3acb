package rewrite_test

import (
	"fmt"
	"strings"
	"testing"

	"shoal/sql/rewrite"
)

func TestTakeTopic(t *testing.T) {
	for _, c := range []struct {
		query, rest string
		records     int
	}{
		{`SELECT * FROM kafka("broker"="b:1", "topic"="t") LIMIT 10`, "SELECT * FROM `\x1fkafka`.`kafka` LIMIT 10", 10},
		{`select key, k.partition, offset from KAFKA ( 'broker' = 'b:1' , 'topic' = 't' ) as k limit 5 offset 3`,
			"select `key`, k.`partition`, `offset` from `\x1fkafka`.`kafka` as k limit 5 offset 3", 8},
		{`SELECT count(*) FROM kafka("broker"="b:1","topic"="t") k LIMIT 2, 3`, "SELECT count(*) FROM `\x1fkafka`.`kafka` k LIMIT 2, 3", 5},
		{`SELECT value FROM kafka("broker"="b:1","topic"="t") WHERE partition = 1 AND key LIKE 'x' LIMIT 10`,
			"SELECT value FROM `\x1fkafka`.`kafka` WHERE `partition` = 1 AND `key` LIKE 'x' LIMIT 10", 1000},
		{`SELECT x FROM (SELECT value AS x FROM kafka("broker"="b:1","topic"="t") LIMIT 3) AS s LIMIT 10`,
			"SELECT x FROM (SELECT value AS x FROM `\x1fkafka`.`kafka` LIMIT 3) AS s LIMIT 10", 10},
		{`SELECT * FROM d.t, kafka("broker"="b:1","topic"="t") ORDER BY offset LIMIT 1`, "SELECT * FROM d.t, `\x1fkafka`.`kafka` ORDER BY `offset` LIMIT 1", 1000},
	} {
		rest, topic, err := rewrite.TakeTopic(c.query)
		if err != nil || rest != c.rest || topic == nil || topic.Records != c.records || fmt.Sprint(topic.Properties) != "[{broker b:1} {topic t}]" {
			t.Errorf("%s:\ngot  %q, %+v, %v\nwant %q, %d", c.query, rest, topic, err, c.rest, c.records)
		}
	}
	for _, query := range []string{"SELECT 1", "SELECT * FROM kafka", "SELECT kafka('x')", "SELECT kafka FROM t WHERE a = 'kafka('", "SELECT a FROM t LIMIT 5000"} {
		if rest, topic, err := rewrite.TakeTopic(query); rest != query || topic != nil || err != nil {
			t.Errorf("%s: got %q, %v, %v", query, rest, topic, err)
		}
	}
}

func TestTakeTopicRefuses(t *testing.T) {
	for query, want := range map[string]string{
		`SELECT * FROM kafka("topic"="t", "property.sasl.password"="hush")`:                        "a query of kafka(…) without LIMIT (up to 1000) is not supported",
		`SELECT * FROM kafka("property.sasl.password"="hush") LIMIT 1001`:                          "no number up to 1000",
		`SELECT * FROM kafka("property.sasl.password"="hush") LIMIT 999 OFFSET 2`:                  "no number up to 1000",
		`SELECT * FROM kafka("property.sasl.password"="hush") LIMIT ?`:                             "no number up to 1000",
		`SELECT * FROM kafka() LIMIT 1`:                                                            "of another form",
		`SELECT * FROM kafka("property.sasl.password", "hush") LIMIT 1`:                            "of another form",
		`SELECT * FROM kafka("property.sasl.password"="hush" "topic"="t") LIMIT 1`:                 "of another form",
		`SELECT * FROM kafka("property.sasl.password"="hush", ) LIMIT 1`:                           "of another form",
		`SELECT * FROM kafka("property.sasl.password"="hush"`:                                      "of another form",
		`SELECT * FROM kafka("topic"="t", "TOPIC"="hush") LIMIT 1`:                                 `property "TOPIC" twice`,
		`SELECT * FROM kafka("topic"="hush") a, kafka("topic"="u") b LIMIT 1`:                      "more than one kafka(…)",
		`SELECT * FROM (SELECT * FROM kafka("property.sasl.password"="hush") LIMIT 5) AS x`:        "without LIMIT",
		`SELECT * FROM kafka("property.sasl.password"="hush") LIMIT 99999999999999999999999999999`: "no number up to 1000",
	} {
		if _, _, err := rewrite.TakeTopic(query); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: got %v, want %s", query, err, want)
		}
	}
}

// FuzzTakeTopic holds that no text makes it panic and that what has no topic
// stays as it is.
func FuzzTakeTopic(f *testing.F) {
	f.Add(`SELECT key, offset FROM kafka("broker"="b:1", "topic"="t") AS k WHERE partition = 1 LIMIT 10, 2`)
	f.Add(`SELECT * FROM kafka(`)
	f.Fuzz(func(t *testing.T, text string) {
		rest, topic, err := rewrite.TakeTopic(text)
		if err == nil && topic == nil && rest != text {
			t.Errorf("%q became %q", text, rest)
		}
	})
}
