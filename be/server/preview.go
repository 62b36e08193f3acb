package server

import (
	"context"
	"log/slog"

	"shoal/be/classic"
	"shoal/be/client"
	"shoal/be/source"
	backendv1 "shoal/proto/backend/v1"
)

// previewer answers ReadRecords requests.
type previewer struct{ logger *slog.Logger }

// ReadRecords implements rpc.Reader.
func (p previewer) ReadRecords(ctx context.Context, req *backendv1.ReadRecordsRequest) (*backendv1.ReadRecordsResponse, error) {
	starts, err := classicStarts(req.Starts)
	if err != nil {
		return nil, err
	}
	place := client.Place{Brokers: req.Brokers, Properties: req.CustomProperties, Files: req.Files}
	cl, err := client.New(place, "shoal-preview", classic.ClientOptions()...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	parts, err := classic.Preview(ctx, classic.Config{Client: cl, Topic: req.Topic, Starts: starts,
		Uncommitted: req.ReadUncommitted, SkipExpired: true, Logger: p.logger}, int(req.Limit))
	if err != nil {
		return nil, err
	}
	resp := &backendv1.ReadRecordsResponse{}
	for i := range parts {
		for _, r := range parts[i].Records {
			resp.Records = append(resp.Records, kafkaRecord(r))
		}
	}
	return resp, nil
}

// kafkaRecord keeps the difference between nothing and nothing in it.
func kafkaRecord(r *source.Record) *backendv1.KafkaRecord {
	out := &backendv1.KafkaRecord{Partition: r.Partition, Offset: r.Offset, TimestampMs: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, &backendv1.Header{Name: h.Key, Value: h.Value})
	}
	return out
}
