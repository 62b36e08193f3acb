package classic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/backoff"
	"shoal/be/source"
	"shoal/internal/offsets"
)

const (
	// maxAnswer bounds one answer; a single larger batch comes whole. Each
	// partition may have its share of it, within these limits. The upper one is
	// for the sake of memory: one partition's answer is decoded as a whole.
	maxAnswer        = 8 << 20
	leastOfPartition = 1 << 20
	mostOfPartition  = 4 << 20
	// topicIDVersion is the first version of Fetch that names topics by id.
	topicIDVersion = 13
)

var (
	errOmitted = errors.New("the broker's answer omits the partition")
	errCutOff  = errors.New("a batch is cut off or damaged")
)

// ask asks the next leader that may be asked, or waits until one may, until
// deadline at the latest, which is maxWait after the fetch began.
func (r *Reader) ask(ctx context.Context, maxWait time.Duration, deadline time.Time) {
	r.findLeaders(ctx)
	of, resume := r.due()
	until := backoff.Earlier(deadline, resume)
	if len(of) == 0 {
		backoff.Wait(ctx, nil, until)
		return
	}
	brokers := slices.Sorted(maps.Keys(of))
	i, _ := slices.BinarySearch(brokers, r.turn+1)
	r.turn = brokers[i%len(brokers)]
	patience := min(backoff.Patience(len(brokers), r.idle, maxWait), max(0, time.Until(until)))
	if r.question(ctx, r.turn, of[r.turn], patience) {
		r.idle = 0
	} else {
		r.idle++
	}
}

// due is the partitions that may be asked for now, by leader, and when the next
// one of the others may be, zero for none.
func (r *Reader) due() (of map[int32][]*partition, resume time.Time) {
	of = make(map[int32][]*partition)
	for _, p := range r.parts {
		if p.due() && p.broker != unknown {
			of[p.broker] = append(of[p.broker], p)
			continue
		}
		if at := p.resume(); !at.IsZero() {
			resume = backoff.Earlier(at, resume)
		}
	}
	return of, resume
}

// question makes one Fetch for partitions that broker leads, and tells whether
// it brought anything.
func (r *Reader) question(ctx context.Context, broker int32, parts []*partition, patience time.Duration) bool {
	resp, err := r.request(ctx, broker, r.fetchRequest(parts, patience))
	if ctx.Err() != nil {
		return false // the reader ends, and nothing is wrong with the partitions
	}
	if err != nil {
		r.failed(err, parts...)
		return false
	}
	missing := make(map[source.PartitionID]*partition, len(parts))
	for _, p := range parts {
		missing[p.PartitionID] = p
	}
	bytes := 0
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		for j := range topic.Partitions {
			answer := &topic.Partitions[j]
			id := source.PartitionID{TopicID: topic.TopicID, Partition: answer.Partition}
			if p := missing[id]; p != nil {
				delete(missing, id)
				bytes += len(answer.RecordBatches)
				r.answered(ctx, p, answer)
			}
		}
	}
	for _, p := range parts {
		switch {
		case bytes > 0: // the answer may be full
		case missing[p.PartitionID] == nil:
			r.nothingBelowEnd(ctx, p)
		case resp.ThrottleMillis == 0: // who is throttled asks again
			r.failed(failure(r.named(p), errOmitted), p)
		}
	}
	return slices.ContainsFunc(parts, (*partition).inHand)
}

// answered takes in what a leader says of a partition.
func (r *Reader) answered(ctx context.Context, p *partition, answer *kmsg.FetchResponseTopicPartition) {
	err := kerr.ErrorForCode(answer.ErrorCode)
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange):
		r.outOfRange(ctx, p)
	case err != nil:
		r.failed(failure(r.named(p), err), p)
	default:
		p.end = r.endOf(answer)
		if len(answer.RecordBatches) > 0 && p.position < p.end {
			p.answer = answer // what came of it is known once it is decoded
			return
		}
		p.rest.OK()
	}
}

// endOf is the offset below which an answer may be read.
func (r *Reader) endOf(answer *kmsg.FetchResponseTopicPartition) int64 {
	if r.cfg.Uncommitted {
		return answer.HighWatermark
	}
	return answer.LastStableOffset
}

// failed has partitions rest, and their leaders looked up again. The job hears
// of it for as long as it lasts; the log once.
func (r *Reader) failed(err error, parts ...*partition) {
	for _, p := range parts {
		p.broker = unknown
		if p.rest.Fail(err); p.rest.Failures == 1 {
			r.cfg.Logger.Warn("a partition cannot be read now", "partition", p.Partition, "position", p.position, "cause", err)
		}
	}
}

func (r *Reader) named(p *partition) string {
	return fmt.Sprintf("topic %s partition %d", r.cfg.Topic, p.Partition)
}

func (r *Reader) fetchRequest(parts []*partition, patience time.Duration) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32((patience + time.Millisecond - 1) / time.Millisecond) // not zero for less than one
	req.MinBytes = 1
	req.MaxBytes = maxAnswer
	if !r.cfg.Uncommitted {
		req.IsolationLevel = 1
	}
	for _, p := range parts {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].TopicID != p.TopicID {
			topic := kmsg.NewFetchRequestTopic()
			topic.Topic, topic.TopicID = r.cfg.Topic, p.TopicID
			req.Topics = append(req.Topics, topic)
		}
		topic := &req.Topics[len(req.Topics)-1]
		partition := kmsg.NewFetchRequestTopicPartition()
		partition.Partition = p.Partition
		partition.CurrentLeaderEpoch = p.epoch
		partition.FetchOffset = p.position
		partition.PartitionMaxBytes = int32(min(max(maxAnswer/len(parts), leastOfPartition), mostOfPartition))
		topic.Partitions = append(topic.Partitions, partition)
	}
	return req
}

// request sends a Fetch to a broker.
func (r *Reader) request(ctx context.Context, broker int32, req *kmsg.FetchRequest) (*kmsg.FetchResponse, error) {
	doing := fmt.Sprintf("fetching topic %s from broker %d", r.cfg.Topic, broker)
	kresp, err := r.cfg.Client.Broker(int(broker)).Request(ctx, req)
	if err != nil {
		return nil, failure(doing, err)
	}
	resp := kresp.(*kmsg.FetchResponse)
	if resp.Version < topicIDVersion {
		return nil, fmt.Errorf("%s: %w", doing, ErrUnsupported)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, failure(doing, err)
	}
	return resp, nil
}

// damaged has a partition rest whose next batch could not be decoded, and stand
// still after so many tries.
func (r *Reader) damaged(p *partition, batches []byte, cause error) {
	r.failed(fmt.Errorf("%s: %w: the batch at offset %d: %w", r.named(p), ErrDamaged, p.position, cause), p)
	if p.damaged++; p.damaged < mostFailures {
		return
	}
	batch := offsets.Range{First: p.position, Last: p.position}
	if whole, ok := source.FirstBatch(batches); ok {
		batch.Last = max(batch.Last, whole.Last)
	}
	p.stuck = &UnreadableError{Topic: r.cfg.Topic, Partition: p.Partition, Offsets: batch, Cause: fmt.Errorf("%w: %w", ErrDamaged, cause)}
	r.cfg.Logger.Error("a partition stands still", "partition", p.Partition, "cause", p.stuck)
}

// decode makes a run of the answer in hand, if there is one.
func (r *Reader) decode(p *partition) {
	if p.answer == nil {
		return
	}
	answer := p.answer
	p.answer = nil
	isolation := kgo.ReadCommitted()
	if r.cfg.Uncommitted {
		isolation = kgo.ReadUncommitted()
	}
	decoded, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset:         p.position,
		IsolationLevel: isolation,
		Topic:          r.cfg.Topic,
		Partition:      p.Partition,
	}, answer, r.decompressor, nil)
	records := decoded.Records
	if decoded.Err != nil { // next may have been moved past what could not be read
		if next = p.position; len(records) > 0 {
			next = records[len(records)-1].Offset + 1
		}
	}
	// A broker tells an end that it looked up before it read.
	if next > p.end {
		next = p.end
		n, _ := slices.BinarySearchFunc(records, next, byOffset)
		records = records[:n]
	}
	if next == p.position {
		r.damaged(p, answer.RecordBatches, errors.Join(errCutOff, decoded.Err))
		return
	}
	p.rest.OK()
	p.damaged = 0
	p.run = run{records: records, bytes: source.Size(records), next: next}
}
