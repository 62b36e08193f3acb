package kafka

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
)

// A TopicID is Kafka's permanent id of a topic (KIP-516). A topic that is
// deleted and created again under its old name has another one.
type TopicID [16]byte

// String is the id as Kafka's tools print it.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// A Topic is what a broker's metadata says of a topic.
type Topic struct {
	Name       string
	ID         TopicID
	Partitions []int32 // ascending
}

// A Log is where a partition's log stands. Ends are the next offset.
type Log struct {
	Start     int64
	End       int64 // high watermark
	StableEnd int64 // last stable offset: open transactions lie above it
}

// ReadableEnd is where the log ends for a reader: what open transactions hold back
// is only for those that read uncommitted records.
func (l Log) ReadableEnd(uncommitted bool) int64 {
	if uncommitted {
		return l.End
	}
	return l.StableEnd
}

// Topic looks a topic up; ErrNoTopic if there is none.
func (c *Client) Topic(ctx context.Context, name string) (Topic, error) {
	details, err := c.adm.ListTopicsWithInternal(ctx, name)
	if err != nil {
		return Topic{}, classify(err, "metadata of topic '%s'", name)
	}
	detail, ok := details[name]
	if !ok {
		return Topic{}, fmt.Errorf("topic '%s': %w", name, ErrNoTopic)
	}
	if detail.Err != nil {
		return Topic{}, classify(detail.Err, "topic '%s'", name)
	}
	topic := Topic{Name: name, ID: TopicID(detail.ID), Partitions: slices.Sorted(maps.Keys(detail.Partitions))}
	if len(topic.Partitions) == 0 {
		return Topic{}, fmt.Errorf("topic '%s' has no partition: %w", name, ErrNoTopic)
	}
	return topic, nil
}

// Compacted tells whether records of a topic replace earlier ones of their key.
func (c *Client) Compacted(ctx context.Context, topic string) (bool, error) {
	resources, err := c.adm.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return false, classify(err, "settings of topic '%s'", topic)
	}
	for _, r := range resources {
		if r.Err != nil {
			return false, classify(r.Err, "settings of topic '%s'", topic)
		}
		for _, config := range r.Configs {
			if config.Key == "cleanup.policy" {
				return strings.Contains(config.MaybeValue(), "compact"), nil
			}
		}
	}
	return false, nil
}

// Logs tells where each partition's log stands.
func (c *Client) Logs(ctx context.Context, topic string) (map[int32]Log, error) {
	starts, err := c.listed(ctx, topic, c.adm.ListStartOffsets)
	if err != nil {
		return nil, err
	}
	stable, err := c.listed(ctx, topic, c.adm.ListCommittedOffsets)
	if err != nil {
		return nil, err
	}
	ends, err := c.listed(ctx, topic, c.adm.ListEndOffsets)
	if err != nil {
		return nil, err
	}
	logs := make(map[int32]Log, len(ends))
	for p, end := range ends {
		logs[p] = Log{Start: starts[p], End: end, StableEnd: stable[p]}
	}
	return logs, nil
}

// listed is the outcome of one ListOffsets; every partition must have one.
func (c *Client) listed(ctx context.Context, topic string, list func(context.Context, ...string) (kadm.ListedOffsets, error)) (map[int32]int64, error) {
	all, err := list(ctx, topic)
	if err != nil {
		return nil, classify(err, "offsets of topic '%s'", topic)
	}
	out := make(map[int32]int64, len(all[topic]))
	for p, o := range all[topic] {
		if o.Err != nil {
			return nil, classify(o.Err, "offsets of topic '%s', partition %d", topic, p)
		}
		out[p] = o.Offset
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("offsets of topic '%s': %w", topic, ErrNoTopic)
	}
	return out, nil
}
