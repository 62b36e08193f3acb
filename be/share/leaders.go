package share

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/source"
)

// lookupTimeout bounds a metadata request, kgo's retries included.
const lookupTimeout = 10 * time.Second

// findLeaders asks for the leaders of assigned partitions that it does not
// know, by topic id: a name may have gone over to another topic. Leaders that
// are known can be used even if it fails.
func (m *Member) findLeaders(ctx context.Context, assigned []source.PartitionID) error {
	missing := make(map[source.TopicID]bool)
	for _, id := range assigned {
		if _, ok := m.leaders[id]; !ok {
			missing[id.TopicID] = true
		}
	}
	switch {
	case len(missing) == 0:
		m.lookup.OK()
		return nil
	case m.lookup.Resting():
		return m.lookup.Cause
	}
	err := m.askLeaders(ctx, missing)
	for _, id := range assigned {
		if _, ok := m.leaders[id]; !ok && err == nil {
			err = failure(fmt.Sprintf("partition %d", id.Partition), kerr.LeaderNotAvailable)
		}
	}
	if err != nil {
		if m.lookup.Fail(err); m.lookup.Failures == 1 {
			m.cfg.Logger.Warn("look-up of leaders failed", "cause", err)
		}
		return err
	}
	m.lookup.OK()
	return nil
}

// askLeaders takes in what a broker says of topics.
func (m *Member) askLeaders(ctx context.Context, topics map[source.TopicID]bool) error {
	doing := "look-up of leaders of topic " + m.cfg.Topic
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // nil would mean all
	for id := range topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.TopicID = id
		req.Topics = append(req.Topics, topic)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	resp, err := req.RequestWith(ctx, m.cfg.Client)
	if err != nil {
		return failure(doing, err)
	}
	var failed error
	for _, topic := range resp.Topics {
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
			failed = failure(doing, err)
		}
		for _, p := range topic.Partitions {
			if p.Leader >= 0 {
				m.setLeader(source.PartitionID{TopicID: topic.TopicID, Partition: p.Partition}, p.Leader)
			}
		}
	}
	return failed
}

// setLeader follows a partition to its leader. What another broker holds of it
// for this member is lost.
func (m *Member) setLeader(id source.PartitionID, broker int32) {
	m.leaders[id] = broker
	if s := m.holder[id]; s != nil && s.broker != broker {
		m.lose(id)
	}
}

// follow takes in what the former leader of a partition says of the new one:
// -1 if it knows none. Its own number would only send us round in a circle.
func (m *Member) follow(s *session, id source.PartitionID, broker int32) {
	m.lose(id)
	if broker >= 0 && broker != s.broker {
		m.setLeader(id, broker)
		return
	}
	m.forgetLeader(s, id)
}

// forgetLeader has the leader of a partition looked up again, unless another
// broker is known to lead it by now.
func (m *Member) forgetLeader(s *session, id source.PartitionID) {
	if m.leaders[id] == s.broker {
		delete(m.leaders, id)
	}
}

// lose remembers to report that nothing of a partition is held any more.
func (m *Member) lose(id source.PartitionID) {
	if m.holder[id] != nil {
		delete(m.holder, id)
		m.lost = append(m.lost, id)
	}
}
