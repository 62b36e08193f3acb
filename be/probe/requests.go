package probe

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	errDamaged   = errors.New("it is damaged or cut off")
	errRemote    = errors.New("this part of the log lies in remote storage, which did not answer in time")
	errNoAnswer  = errors.New("the broker did not answer for the partition; it may be throttling this client")
	errTooOld    = errors.New("the broker is too old: it does not fetch by topic id, which Kafka does since 3.1")
	errNoLeader  = errors.New("the partition has no leader")
	errMoved     = errors.New("the log's start moved meanwhile")
	errPartition = errors.New("the topic has no such partition")
)

// mayPass tells whether it is worth trying again: the cluster is changing, a
// connection broke, a broker was busy.
func mayPass(err error) bool {
	if ke := (*kerr.Error)(nil); errors.As(err, &ke) {
		return ke.Retriable || errors.Is(err, kerr.OffsetOutOfRange) // moved meanwhile
	}
	for _, final := range []error{context.Canceled, context.DeadlineExceeded, errDamaged, errTooOld, errPartition} {
		if errors.Is(err, final) {
			return false
		}
	}
	return true
}

// findLeader asks for the leader of the topic that has the id now.
func (p *prober) findLeader(ctx context.Context) (*leader, error) {
	topic := kmsg.NewMetadataRequestTopic()
	topic.TopicID = p.TopicID
	req := kmsg.NewMetadataRequest()
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, p.client)
	if err != nil {
		return nil, fmt.Errorf("asking for the partition's leader: %w", err)
	}
	if len(resp.Topics) != 1 {
		return nil, errNoAnswer
	}
	if err := topicError(resp.Topics[0].ErrorCode); err != nil {
		return nil, err
	}
	for _, partition := range resp.Topics[0].Partitions {
		switch {
		case partition.Partition != p.Partition:
		case partition.Leader < 0:
			return nil, errNoLeader
		default:
			return &leader{broker: p.client.Broker(int(partition.Leader)), epoch: partition.LeaderEpoch}, nil
		}
	}
	return nil, errPartition
}

// fetch reads from an offset on, as far as consumers of the isolation level see.
func (p *prober) fetch(ctx context.Context, from int64) (*kmsg.FetchResponseTopicPartition, error) {
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition = p.Partition
	partition.CurrentLeaderEpoch = p.leader.epoch
	partition.FetchOffset = from
	partition.PartitionMaxBytes = fetchBytes
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = p.Topic, p.TopicID
	topic.Partitions = append(topic.Partitions, partition)
	req := kmsg.NewFetchRequest()
	req.MaxWaitMillis = int32(fetchWait.Milliseconds())
	req.MinBytes = 1
	req.MaxBytes = fetchBytes
	if !p.Uncommitted {
		req.IsolationLevel = 1
	}
	req.Topics = append(req.Topics, topic)

	raw, err := p.leader.broker.RetriableRequest(ctx, &req)
	if err != nil {
		return nil, fmt.Errorf("fetching at offset %d: %w", from, err)
	}
	resp, ok := raw.(*kmsg.FetchResponse)
	if !ok || resp.Version < 13 {
		return nil, errTooOld
	}
	if err := topicError(resp.ErrorCode); err != nil {
		return nil, fmt.Errorf("fetching at offset %d: %w", from, err)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, errNoAnswer
	}
	answer := &resp.Topics[0].Partitions[0]
	if err := topicError(answer.ErrorCode); err != nil {
		return nil, fmt.Errorf("fetching at offset %d: %w", from, err)
	}
	p.result.LogStart, p.result.LastStable = answer.LogStartOffset, answer.LastStableOffset
	return answer, nil
}

// listOffset asks the leader for the offset that a special timestamp stands
// for.
func (p *prober) listOffset(ctx context.Context, timestamp int64) (int64, error) {
	partition := kmsg.NewListOffsetsRequestTopicPartition()
	partition.Partition = p.Partition
	partition.CurrentLeaderEpoch = p.leader.epoch
	partition.Timestamp = timestamp
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = p.Topic
	topic.Partitions = append(topic.Partitions, partition)
	req := kmsg.NewListOffsetsRequest()
	req.Topics = append(req.Topics, topic)

	raw, err := p.leader.broker.RetriableRequest(ctx, &req)
	if err != nil {
		return 0, fmt.Errorf("asking for the log's start: %w", err)
	}
	resp, ok := raw.(*kmsg.ListOffsetsResponse)
	if !ok || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, errNoAnswer
	}
	answer := &resp.Topics[0].Partitions[0]
	if err := topicError(answer.ErrorCode); err != nil {
		return 0, fmt.Errorf("asking for the log's start: %w", err)
	}
	return answer.Offset, nil
}

// topicError is the error of a code, ErrNoTopic included.
func topicError(code int16) error {
	err := kerr.ErrorForCode(code)
	if errors.Is(err, kerr.UnknownTopicID) {
		return errors.Join(ErrNoTopic, err)
	}
	return err
}
