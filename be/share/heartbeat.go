package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/backoff"
	"shoal/be/source"
)

const (
	joinEpoch  = 0
	leaveEpoch = -1

	// beatEvery is how often a member asks what is assigned to it, if the broker does
	// not ask for more: what a member that left had is known so soon to the
	// others. Before its first assignment, which the broker works out after the
	// joining is answered, it asks after firstBeat, and twice that, and so on.
	beatEvery    = time.Second
	firstBeat    = 100 * time.Millisecond
	beatTimeout  = 15 * time.Second
	leaveTimeout = 5 * time.Second
)

// heart is the heartbeat loop's own state.
type heart struct {
	*Member
	epoch       int32
	coordinator int32 // broker id, -1 when it must be looked up
	subscribed  bool  // the coordinator has heard our subscription
	idle        int   // answers in a row without an assignment
	rest        backoff.Backoff
}

// Run keeps the member in the group, and joins again whenever the coordinator
// does not know it, until ctx ends or Close was called; then it leaves, within
// five seconds. Give it a context that outlives the owner's work: a coordinator
// may release what a member that left still holds. The error says why leaving
// failed; the member then stays until its session times out, with its
// partitions.
func (m *Member) Run(ctx context.Context) error {
	h := &heart{Member: m, coordinator: -1}
	for ctx.Err() == nil && !m.isClosed() {
		backoff.Wait(ctx, m.closed, time.Now().Add(h.beat(ctx)))
	}
	m.update(membership{trouble: ErrNotAssigned})
	return h.leave(context.WithoutCancel(ctx))
}

func (m *Member) isClosed() bool {
	select {
	case <-m.closed:
		return true
	default:
		return false
	}
}

// beat sends one heartbeat and tells when the next is due.
func (h *heart) beat(ctx context.Context) time.Duration {
	resp, err := h.send(ctx, h.epoch)
	switch {
	case err == nil:
		return h.beaten(resp)
	case ctx.Err() != nil:
		return 0
	case h.epoch != joinEpoch && isAny(err, kerr.UnknownMemberID, kerr.FencedMemberEpoch, kerr.GroupIDNotFound):
		// Removed for silence, by someone on our behalf, or with the group.
		// What is held stays so: its locks are the leaders', not the group's.
		h.cfg.Logger.Warn("removed from the share group, joining again", "cause", err)
		h.epoch, h.subscribed = joinEpoch, false
		h.update(membership{})
		return 0
	}
	// A coordinator that moved may not have heard of us, or not everything.
	h.coordinator, h.subscribed = -1, false
	err = failure("heartbeat of share group "+h.cfg.Group, err)
	h.rest.Fail(err)
	if h.rest.Failures == 1 {
		h.cfg.Logger.Warn("heartbeat failed", "cause", err)
	}
	h.mu.Lock()
	member := h.member
	h.mu.Unlock()
	member.trouble = err
	h.update(member)
	return time.Until(h.rest.Until)
}

// beaten takes in an answer.
func (h *heart) beaten(resp *kmsg.ShareGroupHeartbeatResponse) time.Duration {
	h.rest.OK()
	h.epoch, h.subscribed = resp.MemberEpoch, true
	h.mu.Lock()
	member := h.member
	h.mu.Unlock()
	member.trouble = nil
	if resp.Assignment != nil { // nil: as before
		member.assigned = partitions(resp.Assignment)
		h.cfg.Logger.Info("assigned", "epoch", h.epoch, "partitions", len(member.assigned))
	}
	h.update(member)
	return h.pause(len(member.assigned), time.Duration(resp.HeartbeatIntervalMillis)*time.Millisecond)
}

// pause is the time until the next heartbeat of a member that was told an
// interval, 0 for none.
func (h *heart) pause(assigned int, told time.Duration) time.Duration {
	if told <= 0 || told > beatEvery {
		told = beatEvery
	}
	if assigned > 0 {
		h.idle = 0
		return told
	}
	h.idle++
	return min(told, firstBeat<<min(h.idle-1, 8))
}

func partitions(a *kmsg.ShareGroupHeartbeatResponseAssignment) (ids []source.PartitionID) {
	for _, topic := range a.TopicPartitions {
		for _, p := range topic.Partitions {
			ids = append(ids, source.PartitionID{TopicID: topic.TopicID, Partition: p})
		}
	}
	return ids
}

// update publishes what the heartbeat knows, and wakes the owner if it waits.
func (m *Member) update(now membership) {
	m.mu.Lock()
	defer m.mu.Unlock()
	same := slices.Equal(now.assigned, m.member.assigned) && errors.Is(now.trouble, m.member.trouble)
	m.member = now
	if !same {
		close(m.changed)
		m.changed = make(chan struct{})
	}
}

// send is one request to the coordinator. kgo's own routing of heartbeats would
// ask a coordinator that has moved away for ever.
func (h *heart) send(ctx context.Context, epoch int32) (*kmsg.ShareGroupHeartbeatResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	if err := h.findCoordinator(ctx); err != nil {
		return nil, err
	}
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID = h.cfg.Group
	req.MemberID = h.cfg.MemberID
	req.MemberEpoch = epoch
	if !h.subscribed {
		req.SubscribedTopicNames = []string{h.cfg.Topic}
	}
	kresp, err := h.cfg.Client.Broker(int(h.coordinator)).Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := kresp.(*kmsg.ShareGroupHeartbeatResponse)
	return resp, coded(resp.ErrorCode, resp.ErrorMessage)
}

func (h *heart) findCoordinator(ctx context.Context) error {
	if h.coordinator >= 0 {
		return nil
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKeys = []string{h.cfg.Group}
	resp, err := req.RequestWith(ctx, h.cfg.Client)
	if err != nil {
		return fmt.Errorf("look-up of the coordinator: %w", err)
	}
	if len(resp.Coordinators) != 1 {
		return kerr.CoordinatorNotAvailable
	}
	c := resp.Coordinators[0]
	if err := coded(c.ErrorCode, c.ErrorMessage); err != nil {
		return fmt.Errorf("look-up of the coordinator: %w", err)
	}
	h.coordinator = c.NodeID
	return nil
}

// leave takes the member out of the group, also when only the answer to its
// joining was lost.
func (h *heart) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	for {
		_, err := h.send(ctx, leaveEpoch)
		if err == nil || isAny(err, kerr.UnknownMemberID, kerr.GroupIDNotFound) {
			return nil
		}
		h.coordinator = -1
		h.rest.Fail(err)
		if backoff.Wait(ctx, nil, h.rest.Until); ctx.Err() != nil {
			return failure("leaving share group "+h.cfg.Group, err)
		}
	}
}

// coded is the error of a code, nil for 0, with the broker's own words.
func coded(code int16, message *string) error {
	err := kerr.ErrorForCode(code)
	if err == nil || message == nil || *message == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, *message)
}
