package kafka

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// A Start is a value of kafka_default_offsets: where a job begins to read.
type Start struct {
	end  bool
	from time.Time // zero unless a time was given
}

// ParseStart reads OFFSET_BEGINNING, OFFSET_END or "yyyy-MM-dd HH:mm:ss" in
// the job's time zone. Empty is OFFSET_END, as in Doris.
func ParseStart(text string, zone *time.Location) (Start, error) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "OFFSET_BEGINNING":
		return Start{}, nil
	case "", "OFFSET_END":
		return Start{end: true}, nil
	}
	from, err := time.ParseInLocation(time.DateTime, strings.TrimSpace(text), zone)
	if err != nil {
		return Start{}, fmt.Errorf("'%s' is none of OFFSET_BEGINNING, OFFSET_END and a time as in '2026-01-31 12:00:00'", text)
	}
	return Start{from: from}, nil
}

// Resolve turns a start into the first offset to read of each partition. A
// time becomes the first record that is not older, or the log's end.
func (c *Client) Resolve(ctx context.Context, topic string, start Start) (map[int32]int64, error) {
	list := c.adm.ListStartOffsets
	switch {
	case start.end:
		list = c.adm.ListEndOffsets
	case !start.from.IsZero():
		list = func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
			return c.adm.ListOffsetsAfterMilli(ctx, start.from.UnixMilli(), topics...)
		}
	}
	return c.listed(ctx, topic, list)
}
