package pipe

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"shoal/be/decode"
	"shoal/be/source"
	"shoal/internal/errorrows"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	"shoal/sql/types"
)

const (
	rawLimit    = 1 << 10 // bytes of a message or value that an error row keeps
	maxSamples  = 5
	sampleLimit = 256     // bytes of a message in a sample, which travels through the log
	errorBatch  = 4 << 20 // bytes of whole messages after which a batch is handed out
)

// errorFeed makes rows of a table of error rows.
type errorFeed struct {
	spec  *backendv1.TaskSpec
	label []byte
	at    int64 // microseconds since 1970
	bad   []badRow
	last  *source.Record // that the row before was of
	bytes int            // of whole messages in the batch
	batch *decode.Batch
}

func newErrorFeed(spec *backendv1.TaskSpec, label string, now time.Time, bad []badRow) *errorFeed {
	var list []types.Type
	for _, c := range errorrows.Schema().Columns {
		t, err := types.Parse(c.Type)
		if err != nil {
			panic(fmt.Sprintf("pipe: schema of error rows: %v", err))
		}
		list = append(list, t)
	}
	return &errorFeed{spec: spec, label: []byte(label), at: millis(now), bad: bad, batch: decode.NewBatch(list)}
}

// millis is a time to the millisecond, in microseconds since 1970.
func millis(t time.Time) int64 { return t.Truncate(time.Millisecond).UnixMicro() }

func (f *errorFeed) next() (*decode.Batch, error) {
	f.batch.Reset()
	f.bytes = 0
	for len(f.bad) > 0 && !f.batch.Full() && f.bytes < errorBatch {
		f.put(&f.bad[0])
		f.bad = f.bad[1:]
	}
	return f.batch, nil
}

// put adds one row to the batch.
func (f *errorFeed) put(e *badRow) {
	c, i := f.batch.Columns, f.batch.Rows
	for column, n := range map[int]int64{
		errorrows.JobID:            int64(f.spec.JobId),
		errorrows.KafkaPartition:   int64(e.part.Partition),
		errorrows.KafkaOffset:      e.record.Offset,
		errorrows.Line:             int64(e.Line),
		errorrows.ErrorTime:        f.at,
		errorrows.MessageTimestamp: millis(e.record.Timestamp),
	} {
		c[column].Int[i] = n
	}
	for column, s := range map[int]string{
		errorrows.DBName:       f.spec.DbName,
		errorrows.JobName:      f.spec.JobName,
		errorrows.TableName:    e.table,
		errorrows.KafkaTopic:   e.part.Topic,
		errorrows.ColumnName:   e.Column,
		errorrows.Reason:       e.reason(),
		errorrows.SourceValue:  printable(e.Source, rawLimit),
		errorrows.Raw:          printable(e.Raw, rawLimit),
		errorrows.KafkaTopicID: fmt.Sprintf("%x", e.part.TopicID),
	} {
		c[column].Text[i] = []byte(s)
	}
	c[errorrows.MessageTimestamp].Null[i] = !isTime(e.record.Timestamp)
	c[errorrows.Label].Text[i] = f.label
	c[errorrows.ColumnName].Null[i] = e.Column == ""
	c[errorrows.SourceValue].Null[i] = e.Source == nil
	f.putMessage(e, i)
	f.batch.Rows++
}

// putMessage puts the whole message into its first row, if the job wants to
// deliver it.
func (f *errorFeed) putMessage(e *badRow, i int) {
	c, r := f.batch.Columns, e.record
	whole := f.spec.Load.DeadLetterTopic != "" && r != f.last
	f.last = r
	c[errorrows.MessageKey].Null[i] = !whole || r.Key == nil
	c[errorrows.MessageValue].Null[i] = !whole
	c[errorrows.MessageHeaders].Null[i] = !whole
	if !whole {
		return
	}
	headers := make([]errorrows.Header, len(r.Headers))
	for n, h := range r.Headers {
		headers[n] = errorrows.Header{Name: []byte(h.Key), Value: h.Value}
	}
	for column, text := range map[int][]byte{
		errorrows.MessageKey:     base64.StdEncoding.AppendEncode(nil, r.Key),
		errorrows.MessageValue:   base64.StdEncoding.AppendEncode(nil, r.Value),
		errorrows.MessageHeaders: errorrows.EncodeHeaders(headers),
	} {
		c[column].Text[i] = text
		f.bytes += len(text)
	}
}

// samples describes the first error rows.
func samples(bad []badRow) []*frontendv1.ErrorSample {
	var list []*frontendv1.ErrorSample
	for _, e := range bad[:min(len(bad), maxSamples)] {
		list = append(list, &frontendv1.ErrorSample{
			Partition: e.part.Partition, Offset: e.record.Offset, Reason: e.reason(), Raw: printable(e.Raw, sampleLimit)})
	}
	return list
}

// printable is at most limit bytes from the start of raw as text, with \xHH
// for bytes that are none.
func printable(raw []byte, limit int) string {
	if len(raw) > limit {
		end := limit
		for end > limit-utf8.UTFMax && !utf8.RuneStart(raw[end]) {
			end--
		}
		raw = raw[:end]
	}
	if utf8.Valid(raw) {
		return string(raw)
	}
	var s strings.Builder
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&s, `\x%02X`, raw[0])
		} else {
			s.Write(raw[:n])
		}
		raw = raw[n:]
	}
	return s.String()
}
