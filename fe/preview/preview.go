// Package preview reads a few records of a topic for a query, so that people
// can look at them before they make a job: SELECT … FROM kafka(…) LIMIT n.
//
// What kafka(…) says goes through the checks of CREATE ROUTINE LOAD; the leader
// or any other frontend asks the broker where to begin and a backend for the
// records, which read by plain fetches and move no offset of anyone. It keeps
// nothing, starts no goroutines and is safe for concurrent use.
package preview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/status"

	"shoal/fe/credentials"
	"shoal/fe/errno"
	"shoal/fe/kafka"
	"shoal/fe/loaddef"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/rewrite"
)

// timeout bounds a preview; the broker's answers and a backend's reading have
// shorter limits of their own.
const timeout = 30 * time.Second

// Backends knows who can read records.
type Backends interface {
	Pick(context.Context) (backendv1.BackendServiceClient, error)
}

// Reader reads previews.
type Reader struct {
	Kafka    *kafka.Pool
	Secrets  *credentials.Keeper // as for jobs: properties may refer to it
	Backends Backends
}

// Schema is what kafka(…) is as a table.
func Schema() *typesv1.Schema {
	schema := &typesv1.Schema{Version: 1}
	for i, c := range [][2]string{
		{"topic", "varchar(249)"}, {"partition", "int"}, {"offset", "bigint"}, {"timestamp", "datetime(3)"}, {"key", "text"}, {"value", "text"}, {"headers", "map<text,text>"},
	} {
		schema.Columns = append(schema.Columns, &typesv1.Column{FieldId: int32(i + 1), Name: c[0], Type: c[1], Nullable: true})
	}
	return schema
}

// Read reads records as rows of Schema, ordered by partition and offset. Files
// that a property names are those of the database, 0 for none. Times are in
// zone. Errors are made for clients.
func (r *Reader) Read(ctx context.Context, database uint64, topic *rewrite.Topic, zone *time.Location) ([][]*string, error) {
	asked, err := loaddef.ReadTopic(topic.Properties, zone)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	records, err := r.read(ctx, database, asked, topic.Records)
	if err != nil {
		return nil, failed(err)
	}
	rows := make([][]*string, len(records))
	for i, record := range records {
		rows[i] = row(asked.Load.Topic, record, zone)
	}
	return rows, nil
}

// failed is an error that the broker, a backend, or the way to them is the
// cause of.
func failed(err error) error {
	if _, done := errors.AsType[*errno.Error](err); done {
		return err
	}
	return errno.Wrap(errno.Unknown, err, "errCode = 2, detailMessage = kafka(…): %s", status.Convert(err).Message())
}

func (r *Reader) read(ctx context.Context, database uint64, asked *loaddef.Topic, limit int) ([]*backendv1.KafkaRecord, error) {
	load, err := r.Secrets.Seal(asked.Load)
	if err != nil {
		return nil, err
	}
	client, err := r.Kafka.Dial(database, load)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		return nil, err
	}
	starts, err := begin(ctx, client, asked, limit)
	if err != nil {
		return nil, err
	}
	properties, files, err := r.Kafka.Open(database, load)
	if err != nil {
		return nil, err
	}
	backend, err := r.Backends.Pick(ctx)
	if err != nil {
		return nil, fmt.Errorf("no backend can read the records: %w", err)
	}
	resp, err := backend.ReadRecords(ctx, &backendv1.ReadRecordsRequest{
		Brokers: load.Brokers, Topic: load.Topic, CustomProperties: properties, Files: files,
		Starts: starts, Limit: int32(limit), ReadUncommitted: load.ReadUncommitted,
	})
	return resp.GetRecords(), err
}

// begin is where reading begins.
func begin(ctx context.Context, client *kafka.Client, asked *loaddef.Topic, limit int) ([]*backendv1.PartitionStart, error) {
	topic, err := client.Topic(ctx, asked.Load.Topic)
	if err != nil {
		return nil, err
	}
	offsets, err := offsetsOf(ctx, client, asked, topic, limit)
	if err != nil {
		return nil, err
	}
	var starts []*backendv1.PartitionStart
	for _, p := range slices.Sorted(maps.Keys(offsets)) {
		starts = append(starts, &backendv1.PartitionStart{TopicId: topic.ID[:], Partition: p, Offset: offsets[p]})
	}
	return starts, nil
}

func offsetsOf(ctx context.Context, client *kafka.Client, asked *loaddef.Topic, topic kafka.Topic, limit int) (map[int32]int64, error) {
	if asked.Last {
		logs, err := client.Logs(ctx, topic.Name)
		if err != nil {
			return nil, err
		}
		return last(logs, asked.Load.ReadUncommitted, int64(limit)), nil
	}
	starts := asked.Offsets
	if starts == nil {
		starts = make(map[int32]kafka.Start, len(topic.Partitions))
		for _, p := range topic.Partitions {
			starts[p] = asked.Start
		}
	}
	return client.Resolve(ctx, topic.Name, starts)
}

// last is where to begin so that about n records come before the ends: every
// partition gives the same number, and what one does not have the others do.
func last(logs map[int32]kafka.Log, uncommitted bool, n int64) map[int32]int64 {
	offsets := make(map[int32]int64, len(logs))
	size := func(p int32) int64 { return max(logs[p].ReadableEnd(uncommitted)-logs[p].Start, 0) }
	smallFirst := slices.SortedFunc(maps.Keys(logs), func(a, b int32) int { return int(size(a) - size(b)) })
	for i, p := range smallFirst {
		rest := int64(len(smallFirst) - i)
		take := min(size(p), (n+rest-1)/rest)
		n -= take
		offsets[p] = logs[p].Start + size(p) - take
	}
	return offsets
}

// row is a record in the columns of Schema, in MySQL's text form.
func row(topic string, r *backendv1.KafkaRecord, zone *time.Location) []*string {
	partition, offset := fmt.Sprint(r.Partition), fmt.Sprint(r.Offset)
	at := time.UnixMilli(r.TimestampMs).In(zone).Format("2006-01-02 15:04:05.000")
	headers := headerText(r.Headers)
	return []*string{&topic, &partition, &offset, &at, text(r.Key), text(r.Value), &headers}
}

// text is bytes as text, with \xHH for what is none; nil for nil.
func text(raw []byte) *string {
	if raw == nil {
		return nil
	}
	var b strings.Builder
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02X`, raw[0])
		} else {
			b.Write(raw[:n])
		}
		raw = raw[n:]
	}
	out := b.String()
	return &out
}

// headerText is headers as a map of JSON, of equal names the last, as jobs have
// kafka_headers.
func headerText(headers []*backendv1.Header) string {
	values := make(map[string]*string, len(headers))
	for _, h := range headers {
		values[*text([]byte(h.Name))] = text(h.Value)
	}
	out, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("preview: texts as JSON: %v", err))
	}
	return string(out)
}
