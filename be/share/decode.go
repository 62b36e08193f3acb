package share

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/source"
	"shoal/internal/offsets"
)

// errCutOff: kgo stopped decoding without saying why, which it does at a batch
// that is incomplete or, behind a good one, cannot be decompressed.
var errCutOff = errors.New("a batch is cut off or damaged")

// decode fills p with what was acquired of it.
//
// The batches may carry more than was acquired: records that are aborted, or
// another member's. An acquired offset without a record is a gap only if
// decoding got past it. Behind the last batch, which can be where a limit of
// records met a hole, the broker's word is all there is; and where decoding
// stopped short, not even that.
func (m *Member) decode(p *source.Partition, rp *kmsg.ShareFetchResponseTopicPartition) {
	for _, r := range rp.AcquiredRecords {
		p.Acquired = append(p.Acquired, offsets.Range{First: r.FirstOffset, Last: r.LastOffset})
		p.Deliveries = max(p.Deliveries, r.DeliveryCount)
	}
	p.Acquired = offsets.Of(p.Acquired...)
	if len(p.Acquired) == 0 {
		return
	}
	batches := kmsg.NewFetchResponseTopicPartition()
	batches.Partition = rp.Partition
	batches.RecordBatches = rp.Records
	decoded, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset:    p.Acquired[0].First,
		Topic:     p.Topic,
		Partition: p.Partition,
	}, &batches, m.decompressor, nil)

	p.Records, p.Gaps = sift(decoded.Records, p.Acquired)
	rest := p.Acquired.Above(next)
	if len(rest) == 0 {
		return
	}
	p.Gaps = p.Gaps.Below(next)
	err := decoded.Err
	if err == nil && !endsBefore(next, rp.Records) {
		err = errCutOff
	}
	if err == nil {
		p.Unproven = rest
		return
	}
	p.Unread = rest
	p.Err = fmt.Errorf("topic %s partition %d: offsets %v cannot be decoded: %w", p.Topic, p.Partition, rest, err)
}

// endsBefore tells whether batches ends with a whole record batch, and that one
// below next: all of it was decoded. Positions are those of magic 2, Kafka's
// only format since 4.0.
func endsBefore(next int64, batches []byte) bool {
	const baseOffset, length, lastOffsetDelta, header = 0, 8, 23, 61
	for len(batches) > 0 {
		if len(batches) < header {
			return false
		}
		size := int64(binary.BigEndian.Uint32(batches[length:])) + length + 4
		base := int64(binary.BigEndian.Uint64(batches[baseOffset:]))
		last := base + int64(binary.BigEndian.Uint32(batches[lastOffsetDelta:]))
		if size < header || size > int64(len(batches)) || last >= next {
			return false
		}
		batches = batches[size:]
	}
	return true
}

// sift keeps the records that lie in acquired, in place, and collects the
// acquired offsets that have none.
func sift(records []*source.Record, acquired offsets.Set) (kept []*source.Record, gaps offsets.Set) {
	kept = records[:0]
	i := 0
	for _, r := range acquired {
		for i < len(records) && records[i].Offset < r.First {
			i++
		}
		next := r.First // the lowest offset of r not accounted for
		for ; i < len(records) && records[i].Offset <= r.Last; i++ {
			if offset := records[i].Offset; next < offset {
				gaps = append(gaps, offsets.Range{First: next, Last: offset - 1})
			}
			next = records[i].Offset + 1
			kept = append(kept, records[i])
		}
		if next <= r.Last {
			gaps = append(gaps, offsets.Range{First: next, Last: r.Last})
		}
	}
	clear(records[len(kept):])
	return kept, gaps
}
