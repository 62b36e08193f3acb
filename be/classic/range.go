package classic

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/probe"
	"shoal/internal/offsets"
)

// proofTimeout bounds the proof that nothing lies where a log ends.
const proofTimeout = 10 * time.Second

var errMoved = errors.New("the log's start moved meanwhile")

// outOfRange finds out on which side of the log the position lies. ListOffsets
// names the topic by its name, so its answer is only a hint: a fetch at the
// log's start, which names it by id, has the last word.
func (r *Reader) outOfRange(ctx context.Context, p *partition) {
	start, err := r.listLogStart(ctx, p)
	if err != nil {
		r.failed(failure("asking for the log's start of "+r.named(p), err), p)
		return
	}
	log, err := r.look(ctx, p, start)
	switch {
	case err != nil:
		r.failed(failure(r.named(p), err), p)
	case p.position < log.LogStartOffset && r.cfg.SkipExpired:
		p.rest.OK()
		p.run = run{next: log.LogStartOffset, expired: true}
		r.cfg.Logger.Warn("records were deleted before they were read", "partition", p.Partition,
			"first", p.position, "last", log.LogStartOffset-1)
	case p.position < log.LogStartOffset, p.position > log.HighWatermark:
		p.rest.OK()
		p.stuck = &OutOfRangeError{Topic: r.cfg.Topic, Partition: p.Partition, Position: p.position,
			LogStart: log.LogStartOffset, LogEnd: log.HighWatermark}
		r.cfg.Logger.Error("a partition stands still", "partition", p.Partition, "cause", p.stuck)
	default:
		r.failed(failure(r.named(p), errMoved), p)
	}
}

// look fetches a partition alone at an offset, for what the answer says of the
// log.
func (r *Reader) look(ctx context.Context, p *partition, offset int64) (*kmsg.FetchResponseTopicPartition, error) {
	req := r.fetchRequest([]*partition{p}, 0)
	req.Topics[0].Partitions[0].FetchOffset = offset
	req.Topics[0].Partitions[0].PartitionMaxBytes = 1
	resp, err := r.request(ctx, p.broker, req)
	if err != nil {
		return nil, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, errOmitted
	}
	answer := &resp.Topics[0].Partitions[0]
	return answer, kerr.ErrorForCode(answer.ErrorCode)
}

func (r *Reader) listLogStart(ctx context.Context, p *partition) (int64, error) {
	const earliest = -2
	partition := kmsg.NewListOffsetsRequestTopicPartition()
	partition.Partition = p.Partition
	partition.CurrentLeaderEpoch = p.epoch
	partition.Timestamp = earliest
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = r.cfg.Topic
	topic.Partitions = append(topic.Partitions, partition)
	req := kmsg.NewPtrListOffsetsRequest()
	req.Topics = append(req.Topics, topic)
	kresp, err := r.cfg.Client.Broker(int(p.broker)).Request(ctx, req)
	if err != nil {
		return 0, err
	}
	resp := kresp.(*kmsg.ListOffsetsResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, errOmitted
	}
	answer := &resp.Topics[0].Partitions[0]
	return answer.Offset, kerr.ErrorForCode(answer.ErrorCode)
}

// nothingBelowEnd goes on where an answer without a single byte says that a
// partition may be read further: what is left of its log may have been compacted
// away. The probe's word counts, since a slow read of a tiered log looks the
// same.
func (r *Reader) nothingBelowEnd(ctx context.Context, p *partition) {
	if !p.due() || p.inHand() || p.position >= p.end {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	proof, err := probe.Run(ctx, r.cfg.Client, probe.Request{
		Topic: r.cfg.Topic, TopicID: p.TopicID, Partition: p.Partition, Uncommitted: r.cfg.Uncommitted,
		Offsets: offsets.Of(offsets.Range{First: p.position, Last: p.end - 1}),
	})
	switch {
	case len(proof.Void) > 0 && proof.Void[0].First == p.position:
		p.run = run{next: proof.Void[0].Last + 1}
	case err != nil:
		r.failed(failure(r.named(p), err), p)
	}
}
