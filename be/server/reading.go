package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"shoal/be/classic"
	"shoal/be/client"
	"shoal/be/share"
	"shoal/be/source"
	"shoal/be/task"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// reading is where a task's records come from.
type reading struct {
	source task.Source
	client interface{ Close() }
	// beat keeps the source going beside the loop, until the source is closed.
	beat func(context.Context) error
}

// openReading makes the source that the job's mode asks for.
func openReading(spec *backendv1.TaskSpec, logger *slog.Logger) (reading, error) {
	load := spec.Load
	place := client.Place{Brokers: load.Brokers, Properties: load.CustomProperties, Files: spec.Files}
	id := fmt.Sprintf("shoal-%d-%d-%d", spec.JobId, spec.TaskId, spec.Epoch)
	repairs := len(spec.Repair) > 0
	if load.Mode == typesv1.RoutineLoad_MODE_SHARE_GROUP && !repairs {
		cl, err := client.New(place, id, share.ClientOptions()...)
		if err != nil {
			return reading{}, err
		}
		member := share.New(share.Config{Client: cl, Group: load.GroupId, Topic: load.Topic, MemberID: spec.MemberId, Logger: logger})
		return reading{source: member, client: cl, beat: member.Run}, nil
	}
	starts, err := classicStarts(spec.Partitions)
	if repairs {
		starts, err = repairStarts(spec.Repair)
	}
	if err != nil {
		return reading{}, err
	}
	cl, err := client.New(place, id, classic.ClientOptions()...)
	if err != nil {
		return reading{}, err
	}
	reader := classic.New(classic.Config{Client: cl, Topic: load.Topic, Starts: starts,
		Uncommitted: load.ReadUncommitted, SkipExpired: load.SkipExpired || repairs, ID: id, Logger: logger.With("job_id", spec.JobId, "task_id", spec.TaskId)})
	return reading{source: reader, client: cl, beat: func(context.Context) error { return nil }}, nil
}

// repairStarts is what a repair task reads.
func repairStarts(partitions []*typesv1.PartitionRanges) ([]classic.Start, error) {
	starts := make([]classic.Start, len(partitions))
	for i, p := range partitions {
		id, err := topicID(p.TopicId)
		if err != nil {
			return nil, err
		}
		only := make([]offsets.Range, len(p.Ranges))
		for j, r := range p.Ranges {
			only[j] = offsets.Range{First: r.First, Last: r.Last}
		}
		starts[i] = classic.Start{PartitionID: source.PartitionID{TopicID: id, Partition: p.Partition}, Bounded: true, Only: offsets.Of(only...)}
	}
	return starts, nil
}

// classicStarts is where to begin to read.
func classicStarts(partitions []*backendv1.PartitionStart) ([]classic.Start, error) {
	starts := make([]classic.Start, len(partitions))
	for i, p := range partitions {
		id, err := topicID(p.TopicId)
		if err != nil {
			return nil, err
		}
		starts[i] = classic.Start{PartitionID: source.PartitionID{TopicID: id, Partition: p.Partition}, Offset: p.Offset}
	}
	return starts, nil
}

func topicID(b []byte) (id source.TopicID, err error) {
	if len(b) != len(id) {
		return id, fmt.Errorf("a topic id has %d bytes, not %d", len(id), len(b))
	}
	return source.TopicID(b), nil
}

// blame says what an error of the source is to the job.
func blame(err error) backendv1.TroubleKind {
	outOfRange, unreadable := (*classic.OutOfRangeError)(nil), (*classic.UnreadableError)(nil)
	switch {
	case errors.Is(err, share.ErrNotAssigned), errors.Is(err, context.Canceled):
		return backendv1.TroubleKind_TROUBLE_KIND_UNSPECIFIED
	case errors.As(err, &outOfRange):
		return backendv1.TroubleKind_TROUBLE_KIND_OUT_OF_RANGE
	case errors.As(err, &unreadable):
		return backendv1.TroubleKind_TROUBLE_KIND_UNREADABLE
	case errors.Is(err, share.ErrUnauthorized), errors.Is(err, classic.ErrUnauthorized):
		return backendv1.TroubleKind_TROUBLE_KIND_AUTHORIZATION
	}
	return backendv1.TroubleKind_TROUBLE_KIND_BROKER
}
