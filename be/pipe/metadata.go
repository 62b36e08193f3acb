package pipe

import (
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"shoal/be/decode"
	"shoal/be/source"
	"shoal/internal/loadscope"
)

// origin is where a row comes from.
type origin struct {
	message
	at     decode.Place
	number int64 // of the row in its feed
}

// metadataInput are the columns of an input that hold a message's metadata,
// under the names that expressions know.
func metadataInput() ([]inputColumn, error) {
	var list []inputColumn
	for _, n := range loadscope.Metadata() {
		info, err := partType(n.Type)
		if err != nil {
			return nil, err
		}
		list = append(list, inputColumn{n.Name, info, partValue(n.Name, n.Type, 0)})
	}
	return list, nil
}

// fillMetadata puts the metadata of rows into a chunk, from column first on.
// What no expression asks for is not made.
func fillMetadata(chunk duckdb.DataChunk, first int, rows []origin, zone *time.Location) error {
	for i := range loadscope.KafkaHeaders + 1 {
		if _, err := chunk.GetVector(first + i); err != nil {
			continue // no expression has it
		}
		for row := range rows {
			if err := duckdb.SetChunkValue(chunk, first+i, row, metadataOf(&rows[row], i, zone)); err != nil {
				return err
			}
		}
	}
	return nil
}

// metadataOf is one column of a row.
func metadataOf(o *origin, column int, zone *time.Location) any {
	switch r := o.record; column {
	case loadscope.KafkaTopic:
		return o.part.Topic
	case loadscope.KafkaPartition:
		return o.part.Partition
	case loadscope.KafkaOffset:
		return r.Offset
	case loadscope.KafkaTimestamp:
		if local := wallClock(r.Timestamp, zone); isTime(r.Timestamp) && isTime(local) {
			return local
		}
	case loadscope.KafkaHeaders:
		return headerMap(r)
	case loadscope.KafkaKey:
		if r.Key != nil {
			return printable(r.Key, len(r.Key))
		}
	}
	return nil
}

// wallClock is what a clock in zone shows at t, to the millisecond, as a time
// in UTC.
func wallClock(t time.Time, zone *time.Location) time.Time {
	local := t.Truncate(time.Millisecond).In(zone)
	_, offset := local.Zone()
	return local.Add(time.Duration(offset) * time.Second).UTC()
}

// isTime tells whether t is a time that a column can have. A record has whatever
// its producer wrote, and -1 for none.
func isTime(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 && t.UnixMilli() != -1 }

// headerMap has the last header of each name, as consumers of Kafka do, as it
// travels.
func headerMap(r *source.Record) map[string]any {
	keys, values, at := []any{}, []any{}, map[string]int{}
	for _, h := range r.Headers {
		var value any
		if h.Value != nil {
			value = printable(h.Value, len(h.Value))
		}
		name := printable([]byte(h.Key), len(h.Key))
		if i, again := at[name]; again {
			values[i] = value
			continue
		}
		at[name] = len(keys)
		keys, values = append(keys, name), append(values, value)
	}
	return map[string]any{mapKeys: keys, mapValues: values}
}
