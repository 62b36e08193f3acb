// Package deadletter produces the messages of error rows to a job's dead
// letter topic: the backend's half of the outbox. Which files are due, and how
// far they have been delivered, is replicated state that the leader keeps; it
// asks again whenever it does not know, so a message may be produced twice and
// is never forgotten.
//
// A message is produced as it was, key, value and headers, with headers that
// say where it came from and what was wrong. It is produced once for all of its
// error rows, and with the time of the delivery, so that the topic's retention
// counts from there. Messages of one call are produced in the order in which
// their rows stand in the files, each to the partition of its key.
//
// Deliver starts the goroutines of a Kafka client and ends them before it
// returns. One file is read at a time, as the producer takes it.
package deadletter

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"shoal/be/client"
	"shoal/internal/engine"
	"shoal/internal/errorrows"
	"shoal/internal/warehouse"
	backendv1 "shoal/proto/backend/v1"
	"shoal/sql/duckdb"
)

// A Deliverer delivers dead letters. It is safe for concurrent use.
type Deliverer struct {
	Warehouse *warehouse.Warehouse
	Engine    *engine.Engine
	// AfterDelivery is called when the broker has all messages of a call and
	// before that is said, for tests that need a process to die there; nil
	// normally.
	AfterDelivery func()
}

// Deliver produces the messages of the asked files and returns how many there
// were, once the broker has acknowledged all of them (acks=all). After an error
// some may have been produced.
//
// Error rows of before the job had a dead letter topic do not have their
// message; they are passed over.
func (d *Deliverer) Deliver(ctx context.Context, req *backendv1.DeliverDeadLettersRequest) (delivered int64, err error) {
	if req.Load.GetDeadLetterTopic() == "" {
		return 0, errors.New("the job has no dead letter topic")
	}
	place := client.Place{Brokers: req.Load.Brokers, Properties: req.Load.CustomProperties, Files: req.Files}
	p, err := newProducer(ctx, place, fmt.Sprintf("shoal-dead-letters-%d", req.JobId), req.Load.DeadLetterTopic)
	if err != nil {
		return 0, err
	}
	defer p.close()
	for _, rel := range req.Paths {
		if err := d.deliverFile(ctx, req, rel, p); err != nil {
			return 0, fmt.Errorf("dead letters of %s to topic %s: %w", rel, req.Load.DeadLetterTopic, err)
		}
	}
	if err := p.flush(ctx); err != nil {
		return 0, fmt.Errorf("dead letters to topic %s: %w", req.Load.DeadLetterTopic, err)
	}
	if d.AfterDelivery != nil {
		d.AfterDelivery()
	}
	return p.produced, nil
}

// The columns of a query, in its order.
const (
	topic = iota
	topicID
	partition
	offset
	table
	line
	column
	reason
	errorTime
	timestamp
	key
	value
	headers
)

var selected = [...]int{
	topic: errorrows.KafkaTopic, topicID: errorrows.KafkaTopicID, partition: errorrows.KafkaPartition, offset: errorrows.KafkaOffset,
	table: errorrows.TableName, line: errorrows.Line, column: errorrows.ColumnName, reason: errorrows.Reason, errorTime: errorrows.ErrorTime,
	timestamp: errorrows.MessageTimestamp, key: errorrows.MessageKey, value: errorrows.MessageValue, headers: errorrows.MessageHeaders,
}

// deliverFile produces the messages of one file.
func (d *Deliverer) deliverFile(ctx context.Context, req *backendv1.DeliverDeadLettersRequest, rel string, p *producer) error {
	files, err := d.Warehouse.Fetch(ctx, rel)
	if err != nil {
		return err
	}
	defer files.Release()
	columns, err := engine.Columns(errorrows.Schema())
	if err != nil {
		return err
	}
	var names []string
	for _, c := range selected {
		names = append(names, duckdb.QuoteName(columns[c].Name))
	}
	query := engine.Request{
		SQL:    "SELECT " + strings.Join(names, ", ") + " FROM " + duckdb.TableName("shoal", "error_rows"),
		Tables: []engine.Table{{DB: "shoal", Name: "error_rows", Columns: columns, Files: []string{files.Path(rel)}}},
	}
	var l *letter
	err = d.Engine.Query(ctx, query, func([]engine.ResultColumn) error { return nil }, func(cells [][]byte) (err error) {
		if cells[value] == nil {
			if l != nil && l.is(cells) {
				l.add(cells)
			}
			return nil
		}
		if err = p.produce(ctx, l.record(req)); err == nil {
			l, err = newLetter(cells)
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.produce(ctx, l.record(req))
}

// newLetter begins a message with its first error row.
func newLetter(cells [][]byte) (*letter, error) {
	l := &letter{topic: string(cells[topic]), topicID: string(cells[topicID]), partition: string(cells[partition]), offset: string(cells[offset]),
		table: string(cells[table]), errorTime: string(cells[errorTime]), timestamp: string(cells[timestamp])}
	var err error
	if cells[key] != nil {
		if l.key, err = decodeBase64(cells[key]); err != nil {
			return nil, err
		}
	}
	if l.value, err = decodeBase64(cells[value]); err != nil {
		return nil, err
	}
	if l.headers, err = errorrows.DecodeHeaders(cells[headers]); err != nil {
		return nil, err
	}
	l.add(cells)
	return l, nil
}

// decodeBase64 never returns nil without an error: an empty key is not none.
func decodeBase64(text []byte) ([]byte, error) {
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(out, text)
	return out[:n], err
}
