package pipe

import (
	"context"
	"encoding/json"
	"fmt"

	"shoal/be/decode"
	"shoal/be/source"
	"shoal/internal/offsets"
	typesv1 "shoal/proto/types/v1"
)

// rowFeed hands out rows batch by batch. A batch is valid until the next call;
// one without rows is the end.
type rowFeed interface {
	next() (*decode.Batch, error)
}

// feed decodes the records of a txn, in order.
type feed struct {
	ctx     context.Context
	decoder *decode.Decoder
	batch   *decode.Batch
	parts   []source.Partition // the first is being read
	record  int                // the next one of it
	open    bool               // the record before that has been started
	rows    int                // that it gave, error rows included

	bad      []badRow
	loaded   int64
	empty    int64
	received int64
}

// badRow is an error row and the record that it comes from.
type badRow struct {
	decode.RowError
	part   *source.Partition
	record *source.Record
}

func (f *feed) next() (*decode.Batch, error) {
	if err := f.ctx.Err(); err != nil {
		return nil, err
	}
	f.batch.Reset()
	for !f.batch.Full() {
		if !f.open && !f.start() {
			break
		}
		f.step()
	}
	f.loaded += int64(f.batch.Rows)
	return f.batch, nil
}

// start begins the next record that has a value.
func (f *feed) start() bool {
	for len(f.parts) > 0 {
		records := f.parts[0].Records
		if f.record == len(records) {
			f.parts, f.record = f.parts[1:], 0
			continue
		}
		value := records[f.record].Value
		f.record++
		if len(value) == 0 {
			f.empty++
			continue
		}
		f.received += int64(len(value))
		f.decoder.Start(value)
		f.open, f.rows = true, 0
		return true
	}
	return false
}

// step decodes one row of the open record, or closes it.
func (f *feed) step() {
	more, bad := f.decoder.Next(f.batch)
	if !more {
		f.open = false
		if f.rows == 0 { // only blanks or line ends
			f.empty++
		}
		return
	}
	f.rows++
	if bad != nil {
		part := &f.parts[0]
		f.bad = append(f.bad, badRow{RowError: *bad, part: part, record: part.Records[f.record-1]})
	}
}

// counters is the sum of what was read.
func (f *feed) counters() *typesv1.Counters {
	return &typesv1.Counters{
		TotalRows:     f.loaded + int64(len(f.bad)),
		LoadedRows:    f.loaded,
		ErrorRows:     int64(len(f.bad)),
		EmptyMessages: f.empty,
		ReceivedBytes: f.received,
	}
}

// describeOffsets names the records of parts as JSON.
func describeOffsets(parts []source.Partition) string {
	type entry struct {
		Topic     string `json:"topic"`
		TopicID   string `json:"topic_id"`
		Partition int32  `json:"partition"`
		Offsets   string `json:"offsets"`
	}
	var entries []entry
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
		entries = append(entries, entry{p.Topic, fmt.Sprintf("%x", p.TopicID), p.Partition, offsets.Of(ranges...).String()})
	}
	text, err := json.Marshal(entries)
	if err != nil {
		panic(fmt.Sprintf("pipe: strings and numbers as JSON: %v", err))
	}
	return string(text)
}
