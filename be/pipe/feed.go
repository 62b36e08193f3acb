package pipe

import (
	"context"

	"shoal/be/decode"
	"shoal/be/source"
	"shoal/internal/offsets"
	"shoal/internal/rowsetmeta"
)

// rowFeed hands out rows batch by batch. A batch is valid until the next call;
// one without rows is the end.
type rowFeed interface {
	next() (*decode.Batch, error)
}

// feed decodes the messages of a txn for a table whose job has no expressions.
type feed struct {
	ctx      context.Context
	target   *target
	messages messages
	tally    *tally

	open    bool    // current has been started
	current message // the last one that was taken
	rows    int     // that it gave, error rows included
}

func (f *feed) next() (*decode.Batch, error) {
	if err := f.ctx.Err(); err != nil {
		return nil, err
	}
	batch := f.target.batch
	batch.Reset()
	for !batch.Full() {
		if !f.open && !f.start() {
			break
		}
		f.step(batch)
	}
	f.tally.loaded += int64(batch.Rows)
	return batch, nil
}

// start begins the next message.
func (f *feed) start() bool {
	f.current, f.open = f.messages.next()
	if f.open {
		f.target.decoder.Start(f.current.value)
		f.rows = 0
	}
	return f.open
}

// step decodes one row of the open message, or closes it.
func (f *feed) step(batch *decode.Batch) {
	more := false
	bad, ok := guarded(f.current.value, func() (bad *decode.RowError) {
		more, bad = f.target.decoder.Next(batch)
		return bad
	})
	if !ok {
		batch.Abort()
	}
	f.open = more && ok
	if ok && !more {
		if f.rows == 0 { // only blanks or line ends
			f.tally.empty++
		}
		return
	}
	f.rows++
	if bad != nil {
		f.tally.bad.add(badRow{RowError: *bad, message: f.current, table: f.target.name})
	}
}

// describe is all that a txn settles, as every file of it tells.
func describe(parts []source.Partition) string {
	partitions := make([]rowsetmeta.Partition, len(parts))
	for i := range parts {
		p := &parts[i]
		ranges := make([]offsets.Range, 0, len(p.Records))
		for _, r := range p.Records {
			if n := len(ranges); n > 0 && ranges[n-1].Last+1 == r.Offset {
				ranges[n-1].Last++
				continue
			}
			ranges = append(ranges, offsets.Range{First: r.Offset, Last: r.Offset})
		}
		partitions[i] = rowsetmeta.Partition{Topic: p.Topic, TopicID: p.TopicID, Partition: p.Partition,
			Loaded: offsets.Of(ranges...), Void: p.Gaps, Expired: p.Expired}
	}
	return rowsetmeta.Encode(partitions)
}
