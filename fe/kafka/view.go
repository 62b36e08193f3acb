package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A View is one look at a job's topic and group. Views are not changed once
// made.
type View struct {
	At         time.Time
	Topic      Topic
	Partitions map[int32]Partition
	MaxMembers int // 0 without a group
	// Err says why there is nothing to see; then only At is set.
	Err error
}

// A Partition is where log and group stand.
type Partition struct {
	Log
	Position
}

// Look takes a view of the topic and the group. Without a group, "", positions
// are unknown, and the broker need not know share groups. It ends within twice
// CheckTimeout; failures are in the view.
func (c *Client) Look(ctx context.Context, group, topic string) *View {
	view, err := c.look(ctx, group, topic)
	if errors.Is(err, ErrUnreachable) && ctx.Err() == nil {
		// Say which address and why, which the client's own retries hide.
		if ping := c.Ping(ctx); ping != nil {
			err = ping
		}
	}
	if err != nil {
		return &View{At: time.Now(), Err: err}
	}
	view.At = time.Now()
	return view
}

func (c *Client) look(ctx context.Context, group, name string) (*View, error) {
	ctx, cancel := context.WithTimeout(ctx, CheckTimeout)
	defer cancel()
	topic, err := c.Topic(ctx, name)
	if err != nil {
		return nil, err
	}
	// The log before the group: a lag of 0 then covers every offset below the
	// log's end in this view.
	logs, err := c.Logs(ctx, name)
	if err != nil {
		return nil, err
	}
	positions, members, err := c.lookAtGroup(ctx, group, name)
	if err != nil {
		return nil, err
	}
	after, err := c.Topic(ctx, name)
	if err != nil {
		return nil, err
	}
	if after.ID != topic.ID {
		return nil, fmt.Errorf("topic '%s' was created again while looking at it", name)
	}
	view := &View{Topic: topic, Partitions: make(map[int32]Partition, len(logs)), MaxMembers: members}
	for p, log := range logs {
		position, ok := positions[p]
		if !ok {
			position = Position{Start: -1, Lag: -1}
		}
		view.Partitions[p] = Partition{Log: log, Position: position}
	}
	return view, nil
}

// lookAtGroup is where the group stands, and how many members it may have.
func (c *Client) lookAtGroup(ctx context.Context, group, topic string) (positions map[int32]Position, maxMembers int, err error) {
	if group == "" {
		return nil, 0, nil
	}
	if positions, err = c.Positions(ctx, group, topic); err != nil {
		return nil, 0, err
	}
	maxMembers, err = c.maxMembers(ctx)
	return positions, maxMembers, err
}

// maxMembers is the broker's limit of members of a group. It is asked once: a
// broker changes it by a restart only. Kafka's default where ACLs forbid asking.
func (c *Client) maxMembers(ctx context.Context) (int, error) {
	if n := c.members.Load(); n != 0 {
		return int(n), nil
	}
	configs, err := c.brokerConfigs(ctx)
	if err != nil && !errors.Is(err, ErrDenied) {
		return 0, err
	}
	n := brokerLimits(configs).maxMembers
	c.members.Store(int64(n))
	return n, nil
}
