package pipe

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"shoal/be/decode"
	"shoal/internal/errorrows"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	"shoal/sql/types"
)

const (
	rawLimit    = 1 << 10 // bytes of a message or value that an error row keeps
	maxSamples  = 5
	sampleLimit = 256 // bytes of a message in a sample, which travels through the log
)

// errorFeed makes rows of a table of error rows.
type errorFeed struct {
	spec  *backendv1.TaskSpec
	label []byte
	at    int64 // microseconds since 1970
	bad   []badRow
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
	return &errorFeed{spec: spec, label: []byte(label), at: now.Truncate(time.Millisecond).UnixMicro(), bad: bad, batch: decode.NewBatch(list)}
}

func (f *errorFeed) next() (*decode.Batch, error) {
	f.batch.Reset()
	for len(f.bad) > 0 && !f.batch.Full() {
		f.put(&f.bad[0])
		f.bad = f.bad[1:]
	}
	return f.batch, nil
}

// put adds one row to the batch.
func (f *errorFeed) put(e *badRow) {
	c, i := f.batch.Columns, f.batch.Rows
	for column, n := range map[int]int64{
		errorrows.JobID:          int64(f.spec.JobId),
		errorrows.KafkaPartition: int64(e.part.Partition),
		errorrows.KafkaOffset:    e.record.Offset,
		errorrows.Line:           int64(e.Line),
		errorrows.ErrorTime:      f.at,
	} {
		c[column].Int[i] = n
	}
	for column, s := range map[int]string{
		errorrows.DBName:      f.spec.DbName,
		errorrows.JobName:     f.spec.JobName,
		errorrows.TableName:   f.spec.TableName,
		errorrows.KafkaTopic:  e.part.Topic,
		errorrows.ColumnName:  e.Column,
		errorrows.Reason:      e.Reason,
		errorrows.SourceValue: printable(e.Source, rawLimit),
		errorrows.Raw:         printable(e.Raw, rawLimit),
	} {
		c[column].Text[i] = []byte(s)
	}
	c[errorrows.Label].Text[i] = f.label
	c[errorrows.ColumnName].Null[i] = e.Column == ""
	c[errorrows.SourceValue].Null[i] = e.Source == nil
	f.batch.Rows++
}

// samples describes the first error rows.
func samples(bad []badRow) []*frontendv1.ErrorSample {
	var list []*frontendv1.ErrorSample
	for _, e := range bad[:min(len(bad), maxSamples)] {
		list = append(list, &frontendv1.ErrorSample{
			Partition: e.part.Partition, Offset: e.record.Offset, Reason: e.Reason, Raw: printable(e.Raw, sampleLimit)})
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
