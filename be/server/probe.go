package server

import (
	"context"

	"shoal/be/client"
	"shoal/be/probe"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// prober answers Probe requests.
type prober struct{}

// Probe implements rpc.Prober. What was proven before an error is lost with it;
// the auditor asks again.
func (prober) Probe(ctx context.Context, req *backendv1.ProbeRequest) (*backendv1.ProbeResponse, error) {
	q := probe.Request{Topic: req.Topic, Partition: req.Partition, Uncommitted: req.ReadUncommitted}
	var err error
	if q.TopicID, err = topicID(req.TopicId); err != nil {
		return nil, err
	}
	var asked []offsets.Range
	for _, r := range req.Ranges {
		asked = append(asked, offsets.Range{First: r.First, Last: r.Last})
	}
	q.Offsets = offsets.Of(asked...)
	cl, err := client.New(client.Place{Brokers: req.Brokers, Properties: req.CustomProperties, Files: req.Files}, "shoal-probe")
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	res, err := probe.Run(ctx, cl, q)
	if err != nil {
		return nil, err
	}
	return &backendv1.ProbeResponse{Void: ranges(res.Void), Expired: ranges(res.Expired), Held: ranges(res.Held),
		LogStart: res.LogStart, LastStableOffset: res.LastStable}, nil
}

func ranges(set offsets.Set) []*typesv1.OffsetRange {
	out := make([]*typesv1.OffsetRange, len(set))
	for i, r := range set {
		out[i] = &typesv1.OffsetRange{First: r.First, Last: r.Last}
	}
	return out
}
