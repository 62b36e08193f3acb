package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Position is where a group stands in one partition.
type Position struct {
	// Start is the share-partition start offset as it was last persisted,
	// which trails the truth by one write; -1 if nothing is stored.
	Start int64
	// Lag is the records that the group is not done with, those of open
	// transactions included; -1 if the broker cannot tell.
	Lag int64
}

// Pin sets the group's start offset in each of the given partitions, which
// must be all of the topic's: a group that knows a topic reads the others from
// 0, whatever its reset policy. The group must be empty (ErrNotEmpty). Delivery
// counts are wiped. Partitions that the broker does not know yet are retried
// until ctx ends; every other partition's error is returned.
func (c *Client) Pin(ctx context.Context, group, topic string, starts map[int32]int64) error {
	var offsets kadm.Offsets
	for p, start := range starts {
		offsets.AddOffset(topic, p, start, -1)
	}
	ctx, cancel := context.WithTimeout(ctx, CheckTimeout)
	defer cancel()
	return retry(ctx, func() error {
		resp, err := c.adm.AlterShareGroupOffsets(ctx, group, offsets)
		if err != nil {
			return classify(err, "start offsets of group '%s'", group)
		}
		for p := range starts {
			err, answered := resp.Lookup(topic, p)
			if !answered {
				return fmt.Errorf("start offset of group '%s', partition %d: the broker did not answer for it", group, p)
			}
			if err != nil {
				return classify(err, "start offset of group '%s', partition %d", group, p)
			}
		}
		return nil
	})
}

// Positions tells where the group stands in each partition of topic that it
// has state for. A group that does not exist stands nowhere.
func (c *Client) Positions(ctx context.Context, group, topic string) (map[int32]Position, error) {
	described, err := c.adm.DescribeShareGroupOffsets(ctx, group)
	if err != nil {
		return nil, classify(err, "offsets of group '%s'", group)
	}
	d := described[group]
	if d.Err != nil && !errors.Is(d.Err, kerr.GroupIDNotFound) {
		return nil, classify(d.Err, "offsets of group '%s'", group)
	}
	out := make(map[int32]Position, len(d.Offsets[topic]))
	for p, o := range d.Offsets[topic] {
		if o.Err != nil {
			return nil, classify(o.Err, "offsets of group '%s', partition %d", group, p)
		}
		out[p] = Position{Start: o.StartOffset, Lag: o.Lag}
	}
	return out, nil
}

// A Member of a group.
type Member struct{ ID, ClientID, Host string }

// String names it for people.
func (m Member) String() string {
	return fmt.Sprintf("member '%s' (client '%s', host '%s')", m.ID, m.ClientID, m.Host)
}

// Members are those of the group. A group that does not exist has none; a
// group of another type is an error.
func (c *Client) Members(ctx context.Context, group string) ([]Member, error) {
	described, err := c.adm.DescribeShareGroups(ctx, group)
	if err != nil {
		return nil, classify(err, "members of group '%s'", group)
	}
	d := described[group]
	if errors.Is(d.Err, kerr.GroupIDNotFound) {
		return nil, nil
	}
	if d.Err != nil {
		return nil, classify(d.Err, "members of group '%s'", group)
	}
	members := make([]Member, len(d.Members))
	for i, m := range d.Members {
		members[i] = Member{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost}
	}
	return members, nil
}

// Leave takes members out of the group on their behalf, because a dead member
// blocks its partitions for the session timeout, and gives back what they hold,
// because a frozen one would keep it until its locks end. A member that is gone
// already is no error. One that is alive after all joins again, without what it held.
func (c *Client) Leave(ctx context.Context, group string, members ...string) error {
	var errs []error
	for _, member := range members {
		req := kmsg.NewPtrShareGroupHeartbeatRequest()
		req.GroupID, req.MemberID, req.MemberEpoch = group, member, -1
		resp, err := req.RequestWith(ctx, c.cl)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		if errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.GroupIDNotFound) {
			continue
		}
		errs = append(errs, classify(err, "member '%s' leaving group '%s'", member, group))
	}
	return errors.Join(append(errs, c.closeSessions(ctx, group, members))...)
}

// closeSessions ends the share sessions of members with all brokers, which gives
// back what is held there. Any connection may do so.
func (c *Client) closeSessions(ctx context.Context, group string, members []string) error {
	meta, err := c.adm.BrokerMetadata(ctx)
	if err != nil {
		return classify(err, "metadata of the cluster")
	}
	failed := make([]error, len(meta.Brokers))
	var work sync.WaitGroup
	for i, broker := range meta.Brokers {
		work.Go(func() {
			for _, member := range members {
				failed[i] = errors.Join(failed[i], c.closeSession(ctx, broker.NodeID, group, member))
			}
		})
	}
	work.Wait()
	return errors.Join(failed...)
}

func (c *Client) closeSession(ctx context.Context, broker int32, group, member string) error {
	req := kmsg.NewPtrShareAcknowledgeRequest()
	req.GroupID, req.MemberID, req.ShareSessionEpoch = &group, &member, -1
	resp, err := c.cl.Broker(int(broker)).RetriableRequest(ctx, req)
	if err == nil {
		err = kerr.ErrorForCode(resp.(*kmsg.ShareAcknowledgeResponse).ErrorCode)
	}
	if errors.Is(err, kerr.ShareSessionNotFound) {
		return nil
	}
	return classify(err, "closing the session of member '%s' with broker %d", member, broker)
}

// AwaitEmpty waits until the group has no member; ErrNotEmpty when ctx ends
// before.
func (c *Client) AwaitEmpty(ctx context.Context, group string) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	remaining := 0
	for {
		members, err := c.Members(ctx, group)
		if remaining > 0 && ctx.Err() != nil {
			return fmt.Errorf("group '%s' still has %d members: %w", group, remaining, ErrNotEmpty)
		}
		if err != nil || len(members) == 0 {
			return err
		}
		remaining = len(members)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// DeleteGroup removes the group, its offsets and its settings. A group that
// does not exist is no error; one with members is ErrNotEmpty.
func (c *Client) DeleteGroup(ctx context.Context, group string) error {
	resp, err := c.adm.DeleteGroups(ctx, group)
	if err == nil {
		err = resp[group].Err
	}
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return classify(err, "deleting group '%s'", group)
	}
	return c.forgetGroupConfigs(ctx, group)
}
