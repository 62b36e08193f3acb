package classic

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/be/source"
)

// What a preview reads at most, and how long it takes.
const (
	previewBytes = 8 << 20
	previewTime  = 5 * time.Second
	previewWait  = 200 * time.Millisecond // for one fetch
)

// Preview reads a few records, for people to look at: up to limit of all
// partitions together, at most 8 MiB of them and for at most 5 seconds, ordered
// by topic id, partition and offset. Every partition has its share of the
// limit; what it does not use goes to the others. Fewer than limit are no error:
// nothing more is there, or not in time. An error is why a partition cannot be
// read; if it may pass, only when there are no records at all.
func Preview(ctx context.Context, cfg Config, limit int) ([]source.Partition, error) {
	deadline := time.Now().Add(previewTime)
	starts := slices.Clone(cfg.Starts)
	slices.SortFunc(starts, func(a, b Start) int {
		return cmp.Or(slices.Compare(a.TopicID[:], b.TopicID[:]), cmp.Compare(a.Partition, b.Partition))
	})
	looks := make([]look, len(starts))
	for i := range starts {
		cfg.Starts = starts[i : i+1]
		looks[i].Reader = New(cfg)
	}
	records, bytes := limit, int64(previewBytes)
	var trouble error
	for pass := range 2 {
		for i := range looks {
			rest := len(looks) - i
			share := (records + rest - 1) / rest
			if pass > 0 {
				share = records
			}
			until := time.Now().Add(time.Until(deadline) / time.Duration(rest))
			got, err := looks[i].more(ctx, share, bytes, until)
			if err != nil && !errors.Is(err, ErrUnavailable) {
				return nil, err
			}
			trouble = cmp.Or(trouble, err)
			records -= len(got)
			bytes -= source.Size(got)
		}
	}
	var all []source.Partition
	for _, l := range looks {
		if len(l.part.Records) > 0 {
			all = append(all, l.part)
		}
	}
	if len(all) == 0 {
		return nil, trouble
	}
	return all, ctx.Err()
}

// A look is a preview of one partition.
type look struct {
	*Reader
	part source.Partition // so far
}

// more reads up to n records, until deadline at the latest, and adds them to
// l.part. The error is why there are none.
func (l *look) more(ctx context.Context, n int, bytes int64, deadline time.Time) (got []*source.Record, err error) {
	p := l.parts[0]
	for len(got) < n && source.Size(got) < bytes && !p.drained() && ctx.Err() == nil && time.Now().Before(deadline) {
		f, _ := l.Fetch(ctx, source.Limits{MaxRecords: int32(n - len(got)), MaxBytes: int32(bytes - source.Size(got)), MaxWait: previewWait})
		for _, part := range f.Partitions {
			if err = part.Err; err != nil && !errors.Is(err, ErrUnavailable) {
				return nil, err
			}
			for i, r := range part.Records {
				part.Records[i] = alone(r)
			}
			got = append(got, part.Records...)
			l.add(part)
		}
	}
	p.answer, p.run = nil, run{} // of each partition, they would be too much to keep
	if len(got) > 0 {
		err = nil
	}
	return got, err
}

// alone is r without the batch that its bytes lie in.
func alone(r *source.Record) *source.Record {
	out := &source.Record{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, LeaderEpoch: r.LeaderEpoch, Timestamp: r.Timestamp,
		Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: strings.Clone(h.Key), Value: bytes.Clone(h.Value)})
	}
	return out
}

func (l *look) add(p source.Partition) {
	had := &l.part
	had.TopicID, had.Topic, had.Partition = p.TopicID, p.Topic, p.Partition
	had.Records = append(had.Records, p.Records...)
	had.Acquired = had.Acquired.Union(p.Acquired)
	had.Gaps = had.Gaps.Union(p.Gaps)
	had.Expired = had.Expired.Union(p.Expired)
}
