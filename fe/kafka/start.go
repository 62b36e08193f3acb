package kafka

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// A Start is where a job begins to read a partition: at its log's beginning
// (the zero value), its end, an offset, or the first record of a time.
type Start struct {
	kind   startKind
	from   time.Time
	offset int64
}

type startKind uint8

const (
	atBeginning startKind = iota
	atEnd
	atTime
	atOffset
)

// Timed tells whether it is a time.
func (s Start) Timed() bool { return s.kind == atTime }

// ParseDefaultStart reads property.kafka_default_offsets: OFFSET_BEGINNING,
// OFFSET_END, or "yyyy-MM-dd HH:mm:ss" in the job's time zone. Empty is
// OFFSET_END, as in Doris.
func ParseDefaultStart(text string, zone *time.Location) (Start, error) {
	switch text = strings.TrimSpace(text); strings.ToUpper(text) {
	case "OFFSET_BEGINNING":
		return Start{}, nil
	case "", "OFFSET_END":
		return Start{kind: atEnd}, nil
	}
	from, err := time.ParseInLocation(time.DateTime, text, zone)
	if err != nil {
		return Start{}, fmt.Errorf("'%s' is none of OFFSET_BEGINNING, OFFSET_END and a time as in '2026-01-31 12:00:00'", text)
	}
	return Start{kind: atTime, from: from}, nil
}

// ParseStart reads an entry of kafka_offsets: an offset, or what is a default,
// or OFFSET_ZERO, which Doris prints for the offset 0.
func ParseStart(text string, zone *time.Location) (Start, error) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, "OFFSET_ZERO") {
		text = "0"
	}
	if offset, err := strconv.ParseUint(text, 10, 63); err == nil {
		return Start{kind: atOffset, offset: int64(offset)}, nil
	}
	if start, err := ParseDefaultStart(text, zone); err == nil && text != "" {
		return start, nil
	}
	return Start{}, fmt.Errorf("'%s' is none of an offset, OFFSET_BEGINNING, OFFSET_END and a time as in '2026-01-31 12:00:00'", text)
}

// Resolve turns starts into the first offset to read of each partition that
// they name. A time becomes the first record that is not older, or the log's
// end. The error names a partition that the topic does not have, or an offset
// that its log does not, with those that it has.
func (c *Client) Resolve(ctx context.Context, topic string, starts map[int32]Start) (map[int32]int64, error) {
	logs, err := c.Logs(ctx, topic)
	if err != nil {
		return nil, err
	}
	times := make(map[time.Time]map[int32]int64)
	out := make(map[int32]int64, len(starts))
	for _, p := range slices.Sorted(maps.Keys(starts)) {
		start, log := starts[p], logs[p]
		if _, ok := logs[p]; !ok {
			return nil, fmt.Errorf("topic '%s' has no partition %d, but 0 to %d", topic, p, len(logs)-1)
		}
		switch start.kind {
		case atBeginning:
			out[p] = log.Start
		case atEnd:
			out[p] = log.End
		case atOffset:
			if start.offset < log.Start || start.offset > log.End {
				return nil, fmt.Errorf("offset %d is out of range in topic '%s', partition %d: a job can begin at offsets %d to %d",
					start.offset, topic, p, log.Start, log.End)
			}
			out[p] = start.offset
		case atTime:
			if times[start.from] == nil {
				if times[start.from], err = c.after(ctx, topic, start.from); err != nil {
					return nil, err
				}
			}
			out[p] = times[start.from][p]
		}
	}
	return out, nil
}

// after is the first offset of each partition whose record is not older.
func (c *Client) after(ctx context.Context, topic string, from time.Time) (map[int32]int64, error) {
	return c.listed(ctx, topic, func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
		return c.adm.ListOffsetsAfterMilli(ctx, from.UnixMilli(), topics...)
	})
}
