package routineload

import (
	"context"
	"fmt"
	"slices"
	"time"

	"shoal/fe/kafka"
	"shoal/fe/loaddef"
	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// isShare tells whether a job reads by a share group.
func isShare(load *typesv1.RoutineLoad) bool {
	return load.GetMode() == typesv1.RoutineLoad_MODE_SHARE_GROUP
}

// configure sets a share group up as the job asks for it.
func configure(ctx context.Context, client *kafka.Client, load *typesv1.RoutineLoad) (kafka.Settings, error) {
	return client.Configure(ctx, load.GroupId, kafka.Wanted{
		Lock:            time.Duration(load.ShareLockDurationMs) * time.Millisecond,
		DeliveryLimit:   int(load.ShareDeliveryLimit),
		MaxRecordLocks:  int(load.ShareMaxRecordLocks),
		ReadUncommitted: load.ReadUncommitted,
	})
}

// checkBroker checks broker, topics and group, and resolves where a new job's
// partitions begin.
func (m *Manager) checkBroker(ctx context.Context, client *kafka.Client, def *loaddef.Definition) ([]*raftlogv1.LedgerStart, error) {
	topic, err := checkTopics(ctx, client, def)
	if err != nil {
		return nil, err
	}
	starts, err := m.begin(ctx, client, def, topic)
	if err != nil {
		return nil, err
	}
	return starts, checkAll(def, topic)
}

// checkTopics checks that the broker can serve a definition: that it answers,
// offers what the mode needs, and has the topics.
func checkTopics(ctx context.Context, client *kafka.Client, def *loaddef.Definition) (kafka.Topic, error) {
	if err := client.Ping(ctx); err != nil {
		return kafka.Topic{}, err
	}
	if isShare(def.Load) {
		if err := client.CheckShareGroups(ctx); err != nil {
			return kafka.Topic{}, err
		}
	}
	topic, err := client.Topic(ctx, def.Load.Topic)
	if err != nil {
		return topic, err
	}
	noteOrder(ctx, client, def)
	if def.Load.DeadLetterTopic == "" {
		return topic, nil
	}
	if _, err := client.Topic(ctx, def.Load.DeadLetterTopic); err != nil {
		return topic, fmt.Errorf("dead_letter_topic must exist: %w", err)
	}
	return topic, nil
}

// noteOrder warns of a share group on a topic whose order says which record of
// a key is the valid one. A broker that does not tell is not asked twice.
func noteOrder(ctx context.Context, client *kafka.Client, def *loaddef.Definition) {
	if !isShare(def.Load) {
		return
	}
	if compacted, err := client.Compacted(ctx, def.Load.Topic); err == nil && compacted {
		def.Notes = append(def.Notes, fmt.Sprintf("topic '%s' is compacted: later records replace earlier ones of their key, but load_mode share_group "+
			"gives records to tasks in any order; kafka_partition and kafka_offset as columns keep what order there was", def.Load.Topic))
	}
}

// checkAll refuses a share group whose start is named for some partitions only.
func checkAll(def *loaddef.Definition, topic kafka.Topic) error {
	if !isShare(def.Load) || def.Offsets == nil {
		return nil
	}
	for _, p := range topic.Partitions {
		if _, named := def.Offsets[p]; !named {
			return fmt.Errorf("kafka_partitions must name all %d partitions of topic '%s' with load_mode share_group, which reads all of them; %d is missing",
				len(topic.Partitions), topic.Name, p)
		}
	}
	return nil
}

// begin is where a new job begins: where the user's group is, if it is anywhere
// and nothing else was asked for, or where the statement says.
func (m *Manager) begin(ctx context.Context, client *kafka.Client, def *loaddef.Definition, topic kafka.Topic) ([]*raftlogv1.LedgerStart, error) {
	if isShare(def.Load) && def.Load.GroupIdGiven {
		members, err := client.Members(ctx, def.Load.GroupId)
		if err != nil {
			return nil, err
		}
		if n := len(members); n > 0 {
			return nil, fmt.Errorf("share group '%s' has %d members already: another application reads by it", def.Load.GroupId, n)
		}
	}
	if def.Adopt {
		offsets, err := m.adopted(ctx, client, def.Load, topic)
		if err != nil {
			return nil, err
		}
		if len(offsets) > 0 {
			return ledgerStarts(topic, offsets, topic.Partitions), nil
		}
	}
	return resolve(ctx, client, def, topic)
}

// adopted is where the user's share group stands: its start as the broker has
// it, which trails the truth by one write, or what a former job with this group
// had settled. A group reads partitions that it has no offset of from 0.
func (m *Manager) adopted(ctx context.Context, client *kafka.Client, load *typesv1.RoutineLoad, topic kafka.Topic) (map[int32]int64, error) {
	positions, err := client.Positions(ctx, load.GroupId, load.Topic)
	if err != nil {
		return nil, err
	}
	offsets := make(map[int32]int64)
	for p, position := range positions {
		if position.Start >= 0 {
			offsets[p] = position.Start
		}
	}
	m.cfg.Store.View(func(st *state.State) {
		for _, former := range st.Jobs() {
			if !isShare(former.Load) || former.Load.GroupId != load.GroupId {
				continue
			}
			for _, l := range st.Ledgers(former.Id) {
				if start, ok := offsets[l.Partition]; ok && kafka.TopicID(l.TopicID) == topic.ID {
					offsets[l.Partition] = max(start, l.Settled)
				}
			}
		}
	})
	return offsets, nil
}

// resolve is where the partitions begin that the statement names, or all.
func resolve(ctx context.Context, client *kafka.Client, def *loaddef.Definition, topic kafka.Topic) ([]*raftlogv1.LedgerStart, error) {
	starts := def.Offsets
	if starts == nil {
		starts = make(map[int32]kafka.Start, len(topic.Partitions))
		for _, p := range topic.Partitions {
			starts[p] = def.Start
		}
	}
	offsets, err := client.Resolve(ctx, topic.Name, starts)
	if err != nil {
		return nil, err
	}
	named := slices.DeleteFunc(slices.Clone(topic.Partitions), func(p int32) bool { _, ok := offsets[p]; return !ok })
	return ledgerStarts(topic, offsets, named), nil
}

func ledgerStarts(topic kafka.Topic, offsets map[int32]int64, partitions []int32) []*raftlogv1.LedgerStart {
	starts := make([]*raftlogv1.LedgerStart, len(partitions))
	for i, p := range partitions {
		starts[i] = &raftlogv1.LedgerStart{TopicId: topic.ID[:], Partition: p, Start: offsets[p], Traced: true}
	}
	return starts
}
