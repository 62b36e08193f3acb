package share

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/backoff"
	"shoal/be/source"
)

// errNotHeld: what is acknowledged was lost before the request was sent.
var errNotHeld = errors.New("nothing of this partition is held: its leader moved or its session ended")

// QueueAcks has acks ride on the next fetch from the leader that gave what they
// name, or go before the next fetch if that leader will not be asked; a fetch
// reports their outcome. Acknowledge and Close send what is still queued.
func (m *Member) QueueAcks(acks []source.Ack) { m.queue = append(m.queue, acks...) }

// flush sends what is queued for leaders of which nothing is wanted. No fetch
// would carry it, and until its locks end it would block its partition for all.
func (m *Member) flush(ctx context.Context, want wanted, f *source.Fetch) {
	var stray, stay []source.Ack
	for _, ack := range m.queue {
		if holder := m.holder[ack.PartitionID]; holder != nil && want.of[holder.broker] == nil {
			stray = append(stray, ack)
		} else {
			stay = append(stay, ack)
		}
	}
	if len(stray) == 0 {
		return
	}
	m.queue = nil
	f.Acked, _ = m.Acknowledge(ctx, stray)
	m.queue = stay
}

// Acknowledge sends acks now, those queued before them first, and tells the
// outcome for each partition; for a partition, all or none are applied. Offsets
// of different acks must not overlap. lockedUntil is when the locks end that
// acks renewed, at the earliest; zero if none was.
//
// It does not wait for locks, fetches or assignments. Leaders are asked one
// after the other. If ctx ends before an answer came, the outcome is Unknown
// and the session with that leader ends.
func (m *Member) Acknowledge(ctx context.Context, acks []source.Ack) (results []source.AckResult, lockedUntil time.Time) {
	of := m.sort(acks)
	results = answers(of[nil], source.Refused, errNotHeld)
	for _, broker := range slices.Sorted(maps.Keys(m.sessions)) {
		mine := of[m.sessions[broker]]
		if len(mine) == 0 {
			continue
		}
		some, until := m.send(ctx, m.sessions[broker], mine)
		results = append(results, some...)
		if !until.IsZero() {
			lockedUntil = backoff.Earlier(until, lockedUntil)
		}
	}
	return results, lockedUntil
}

// sort empties the queue and has what was in it, and acks, by the session that
// it goes to: nil for what nobody holds.
func (m *Member) sort(acks []source.Ack) map[*session][]source.Ack {
	of := make(map[*session][]source.Ack)
	for _, ack := range append(m.queue, acks...) {
		holder := m.holder[ack.PartitionID]
		of[holder] = append(of[holder], ack)
	}
	m.queue = nil
	return of
}

// Close ends the member: its sessions, which releases all that is still held
// there, after what is queued was acknowledged; and then its membership, which
// Run gives up before it returns. Nothing may be called afterwards.
//
// A session that cannot be closed ends with its connection, so close the client
// too.
func (m *Member) Close(ctx context.Context) (results []source.AckResult) {
	of := m.sort(nil)
	results = answers(of[nil], source.Refused, errNotHeld)
	for _, broker := range slices.Sorted(maps.Keys(m.sessions)) {
		s := m.sessions[broker]
		if s.epoch == openEpoch {
			continue
		}
		s.epoch = closeEpoch
		some, _ := m.send(ctx, s, of[s])
		results = append(results, some...)
	}
	m.closing()
	return results
}

// send makes one ShareAcknowledge. until is when renewed locks end.
func (m *Member) send(ctx context.Context, s *session, acks []source.Ack) (results []source.AckResult, until time.Time) {
	req := m.ackRequest(s, acks)
	sent := time.Now()
	kresp, err := m.cfg.Client.Broker(int(s.broker)).Request(ctx, req)
	if err != nil {
		m.broken(s, "share acknowledge", err)
		return answers(acks, source.Unknown, err), time.Time{}
	}
	resp := kresp.(*kmsg.ShareAcknowledgeResponse)
	if err := coded(resp.ErrorCode, resp.ErrorMessage); err != nil {
		m.broken(s, "share acknowledge", err)
		return answers(acks, outcome(err), err), time.Time{}
	}
	s.next()
	results = m.acknowledged(s, resp, acks)
	if req.IsRenewAck && slices.ContainsFunc(results, func(r source.AckResult) bool { return r.Outcome == source.Applied }) {
		until = sent.Add(time.Duration(resp.AcquisitionLockTimeoutMillis) * time.Millisecond)
	}
	return results, until
}

func (m *Member) ackRequest(s *session, acks []source.Ack) *kmsg.ShareAcknowledgeRequest {
	req := kmsg.NewPtrShareAcknowledgeRequest()
	req.GroupID, req.MemberID = &m.cfg.Group, &m.cfg.MemberID
	req.ShareSessionEpoch = s.epoch
	req.IsRenewAck = slices.ContainsFunc(acks, func(a source.Ack) bool { return a.Type == source.Renew })
	of := byPartition(acks)
	for _, id := range inOrder(of) {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].TopicID != id.TopicID {
			req.Topics = append(req.Topics, kmsg.ShareAcknowledgeRequestTopic{TopicID: id.TopicID})
		}
		topic := &req.Topics[len(req.Topics)-1]
		topic.Partitions = append(topic.Partitions, kmsg.ShareAcknowledgeRequestTopicPartition{
			Partition: id.Partition, AcknowledgementBatches: batches(of[id]),
		})
	}
	return req
}

func (m *Member) acknowledged(s *session, resp *kmsg.ShareAcknowledgeResponse, acks []source.Ack) (results []source.AckResult) {
	waiting := byPartition(acks)
	for _, topic := range resp.Topics {
		for _, rp := range topic.Partitions {
			id := source.PartitionID{TopicID: topic.TopicID, Partition: rp.Partition}
			if _, ok := waiting[id]; !ok {
				continue
			}
			delete(waiting, id)
			err := coded(rp.ErrorCode, rp.ErrorMessage)
			results = append(results, source.AckResult{PartitionID: id, Outcome: outcome(err), Err: err})
			if isMoved(err) {
				m.follow(s, id, rp.CurrentLeader.LeaderID)
			}
		}
	}
	for _, id := range inOrder(waiting) {
		results = append(results, source.AckResult{PartitionID: id, Outcome: source.Unknown, Err: errOmitted})
	}
	return results
}

// answers is one result for each partition that acks name.
func answers(acks []source.Ack, what source.Outcome, err error) (results []source.AckResult) {
	for _, id := range inOrder(byPartition(acks)) {
		results = append(results, source.AckResult{PartitionID: id, Outcome: what, Err: err})
	}
	return results
}

// batches is the acknowledgements of one partition as the protocol wants them:
// in order, with as few batches as will do.
func batches(acks []source.Ack) (packed []kmsg.ShareAcknowledgeRequestTopicPartitionAcknowledgementBatch) {
	slices.SortFunc(acks, func(a, b source.Ack) int { return cmp.Compare(a.First, b.First) })
	for _, ack := range acks {
		if n := len(packed); n > 0 && packed[n-1].LastOffset+1 == ack.First && packed[n-1].AcknowledgeTypes[0] == int8(ack.Type) {
			packed[n-1].LastOffset = ack.Last
			continue
		}
		packed = append(packed, kmsg.ShareAcknowledgeRequestTopicPartitionAcknowledgementBatch{
			FirstOffset: ack.First, LastOffset: ack.Last, AcknowledgeTypes: []int8{int8(ack.Type)},
		})
	}
	return packed
}
