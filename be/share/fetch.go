package share

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/source"
)

// errOmitted: the answer says nothing of a partition that was acknowledged.
var errOmitted = errors.New("the broker's answer omits the partition")

// fetch makes one ShareFetch for the partitions in want and adds what it brings
// to f.
func (m *Member) fetch(ctx context.Context, s *session, want []source.PartitionID, limits source.Limits, f *source.Fetch) error {
	riding, apart := m.dequeue(s, want, f)
	if len(apart) > 0 {
		results, _ := m.send(ctx, s, apart)
		f.Acked = append(f.Acked, results...)
	}
	if s.epoch == openEpoch && len(riding) > 0 { // sending apart ended it
		f.Acked = append(f.Acked, answers(riding, source.Refused, kerr.ShareSessionNotFound)...)
		riding = nil
	}
	req := m.fetchRequest(s, want, riding, limits)
	sent := time.Now()
	kresp, err := m.cfg.Client.Broker(int(s.broker)).Request(ctx, req)
	if err != nil {
		f.Acked = append(f.Acked, answers(riding, source.Unknown, err)...)
		return m.broken(s, "share fetch", err)
	}
	resp := kresp.(*kmsg.ShareFetchResponse)
	if err := coded(resp.ErrorCode, resp.ErrorMessage); err != nil {
		f.Acked = append(f.Acked, answers(riding, outcome(err), err)...)
		return m.broken(s, "share fetch", err)
	}
	s.next()
	s.adopt(req)
	failed := m.fetched(s, resp, riding, f)
	if acquired(f.Partitions) {
		f.Lock = time.Duration(resp.AcquisitionLockTimeoutMillis) * time.Millisecond
		f.LockedUntil = sent.Add(f.Lock)
	}
	if failed != nil && f.LockedUntil.IsZero() {
		s.rest.Fail(failed)
	} else {
		s.rest.OK()
	}
	return nil
}

func acquired(partitions []source.Partition) bool {
	return slices.ContainsFunc(partitions, func(p source.Partition) bool { return len(p.Acquired) > 0 })
}

// dequeue takes from the queue what goes to s: riding on the fetch, or apart
// from it, because the request that names a partition adds it to the session,
// and one that renews must not fetch (KIP-1222). What nobody holds is answered.
func (m *Member) dequeue(s *session, want []source.PartitionID, f *source.Fetch) (riding, apart []source.Ack) {
	var stay, orphans []source.Ack
	for _, ack := range m.queue {
		switch holder := m.holder[ack.PartitionID]; {
		case holder == nil:
			orphans = append(orphans, ack)
		case holder != s:
			stay = append(stay, ack)
		case ack.Type == source.Renew || !slices.Contains(want, ack.PartitionID):
			apart = append(apart, ack)
		default:
			riding = append(riding, ack)
		}
	}
	m.queue = stay
	f.Acked = append(f.Acked, answers(orphans, source.Refused, errNotHeld)...)
	return riding, apart
}

// fetchRequest names what changes in the session: partitions that it lacks or
// that are acknowledged, and those to forget.
func (m *Member) fetchRequest(s *session, want []source.PartitionID, riding []source.Ack, limits source.Limits) *kmsg.ShareFetchRequest {
	req := kmsg.NewPtrShareFetchRequest()
	req.GroupID, req.MemberID = &m.cfg.Group, &m.cfg.MemberID
	req.ShareSessionEpoch = s.epoch
	req.MaxWaitMillis = int32(limits.MaxWait.Milliseconds())
	req.MinBytes = 1
	req.MaxBytes = limits.MaxBytes
	req.MaxRecords = limits.MaxRecords
	req.BatchSize = limits.MaxRecords

	named := byPartition(riding)
	for _, id := range want {
		if _, ok := named[id]; !ok && !s.parts[id] {
			named[id] = nil
		}
	}
	for _, id := range inOrder(named) {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].TopicID != id.TopicID {
			req.Topics = append(req.Topics, kmsg.ShareFetchRequestTopic{TopicID: id.TopicID})
		}
		topic := &req.Topics[len(req.Topics)-1]
		p := kmsg.ShareFetchRequestTopicPartition{Partition: id.Partition}
		for _, b := range batches(named[id]) {
			p.AcknowledgementBatches = append(p.AcknowledgementBatches, kmsg.ShareFetchRequestTopicPartitionAcknowledgementBatch(b))
		}
		topic.Partitions = append(topic.Partitions, p)
	}
	for _, id := range inOrder(s.parts) {
		if slices.Contains(want, id) {
			continue
		}
		if n := len(req.ForgottenTopicsData); n == 0 || req.ForgottenTopicsData[n-1].TopicID != id.TopicID {
			req.ForgottenTopicsData = append(req.ForgottenTopicsData, kmsg.ShareFetchRequestForgottenTopicsData{TopicID: id.TopicID})
		}
		forgotten := &req.ForgottenTopicsData[len(req.ForgottenTopicsData)-1]
		forgotten.Partitions = append(forgotten.Partitions, id.Partition)
	}
	return req
}

// adopt follows what the broker does to the session on req.
func (s *session) adopt(req *kmsg.ShareFetchRequest) {
	for _, topic := range req.Topics {
		for _, p := range topic.Partitions {
			s.parts[source.PartitionID{TopicID: topic.TopicID, Partition: p.Partition}] = true
		}
	}
	for _, topic := range req.ForgottenTopicsData {
		for _, p := range topic.Partitions {
			delete(s.parts, source.PartitionID{TopicID: topic.TopicID, Partition: p})
		}
	}
}

// fetched takes in an answer. It reports every range that was acquired, also of
// a partition that is no longer assigned: it is held all the same. The error is
// that of a partition, if any failed.
func (m *Member) fetched(s *session, resp *kmsg.ShareFetchResponse, riding []source.Ack, f *source.Fetch) (failed error) {
	rode := byPartition(riding)
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		for j := range topic.Partitions {
			rp := &topic.Partitions[j]
			id := source.PartitionID{TopicID: topic.TopicID, Partition: rp.Partition}
			if _, ok := rode[id]; ok {
				delete(rode, id)
				err := coded(rp.AcknowledgeErrorCode, rp.AcknowledgeErrorMessage)
				f.Acked = append(f.Acked, source.AckResult{PartitionID: id, Outcome: outcome(err), Err: err})
				if isMoved(err) {
					m.follow(s, id, rp.CurrentLeader.LeaderID)
				}
			}
			if err := m.fetchedPartition(s, id, rp, f); err != nil {
				failed = err
			}
		}
	}
	for _, id := range inOrder(rode) {
		f.Acked = append(f.Acked, source.AckResult{PartitionID: id, Outcome: source.Unknown, Err: errOmitted})
	}
	return failed
}

func (m *Member) fetchedPartition(s *session, id source.PartitionID, rp *kmsg.ShareFetchResponseTopicPartition, f *source.Fetch) error {
	p := source.Partition{TopicID: id.TopicID, Topic: m.cfg.Topic, Partition: id.Partition}
	if err := coded(rp.ErrorCode, rp.ErrorMessage); err != nil {
		if isMoved(err) {
			m.follow(s, id, rp.CurrentLeader.LeaderID)
			return err
		}
		m.forgetLeader(s, id)
		p.Err = failure(fmt.Sprintf("topic %s partition %d", p.Topic, p.Partition), err)
		f.Partitions = append(f.Partitions, p)
		return p.Err
	}
	if m.decode(&p, rp); len(p.Acquired) > 0 {
		m.holder[id] = s
		f.Partitions = append(f.Partitions, p)
	}
	return p.Err
}

// byPartition sorts acknowledgements out by partition.
func byPartition(acks []source.Ack) map[source.PartitionID][]source.Ack {
	of := make(map[source.PartitionID][]source.Ack)
	for _, ack := range acks {
		of[ack.PartitionID] = append(of[ack.PartitionID], ack)
	}
	return of
}

// inOrder is the keys of m by topic and partition.
func inOrder[V any](m map[source.PartitionID]V) []source.PartitionID {
	return slices.SortedFunc(maps.Keys(m), func(a, b source.PartitionID) int {
		return cmp.Or(bytes.Compare(a.TopicID[:], b.TopicID[:]), cmp.Compare(a.Partition, b.Partition))
	})
}
