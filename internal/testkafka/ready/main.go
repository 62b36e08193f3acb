// Command ready waits until a Kafka cluster serves, for scripts/kafka.
//
// An open port says little: requests still fail while brokers register and coordinators load. Ready asks what a
// client's first steps ask: are all nodes members, does the group coordinator answer and, with -share, the share
// coordinator, whose topic the broker makes on the first question. It leaves no topic and no group of its own behind.
// It never gives up before -timeout, since a broker that starts refuses connections first.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// group is asked about and never joined, so it does not come into being.
const group = "ready"

func main() {
	nodes := flag.Int("nodes", 1, "how many brokers the cluster has")
	share := flag.Bool("share", false, "wait for the share coordinator too")
	timeout := flag.Duration("timeout", 2*time.Minute, "when to give up")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	if err := wait(ctx, flag.Arg(0), *nodes, *share); err != nil {
		fmt.Fprintf(os.Stderr, "ready: Kafka at %s does not serve: %v\n", flag.Arg(0), err)
		os.Exit(1)
	}
}

// wait returns nil once the cluster at addr serves, or the last obstacle when ctx ends.
func wait(ctx context.Context, addr string, nodes int, share bool) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RequestRetries(0), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	steps := []func(context.Context, *kgo.Client) error{
		func(ctx context.Context, c *kgo.Client) error { return members(ctx, c, nodes) },
		groupCoordinator,
	}
	if share {
		steps = append(steps, shareCoordinator)
	}
	for _, step := range steps {
		if err := insist(ctx, client, step); err != nil {
			return err
		}
	}
	return nil
}

// insist repeats a step until it succeeds.
func insist(ctx context.Context, client *kgo.Client, step func(context.Context, *kgo.Client) error) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := step(ctx, client)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-again.C:
		}
	}
}

func members(ctx context.Context, client *kgo.Client, nodes int) error {
	resp, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
	if err != nil {
		return err
	}
	if len(resp.Brokers) < nodes {
		return fmt.Errorf("%d of %d brokers are members", len(resp.Brokers), nodes)
	}
	return nil
}

func groupCoordinator(ctx context.Context, client *kgo.Client) error {
	broker, err := coordinator(ctx, client, 0, group)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(ctx, broker)
	if err != nil {
		return err
	}
	for _, g := range resp.Groups {
		if err := coordinatorErr(g.ErrorCode); err != nil {
			return err
		}
	}
	return nil
}

// shareCoordinator asks for the state of a share-partition that does not exist. Whatever the answer, it proves that
// the coordinator has loaded its part of __share_group_state, unless it says so itself.
func shareCoordinator(ctx context.Context, client *kgo.Client) error {
	topic := [16]byte{15: 1}
	broker, err := coordinator(ctx, client, 2, group+":AAAAAAAAAAAAAAAAAAAAAQ:0")
	if err != nil {
		return err
	}
	part := kmsg.NewReadShareGroupStateSummaryRequestTopicPartition()
	ask := kmsg.NewReadShareGroupStateSummaryRequestTopic()
	ask.TopicID, ask.Partitions = topic, append(ask.Partitions, part)
	req := kmsg.NewPtrReadShareGroupStateSummaryRequest()
	req.GroupID, req.Topics = group, append(req.Topics, ask)
	resp, err := req.RequestWith(ctx, broker)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := coordinatorErr(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// coordinator finds the broker that coordinates key, a group (kind 0) or a share-partition (kind 2).
func coordinator(ctx context.Context, client *kgo.Client, kind int8, key string) (*kgo.Broker, error) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = kind, key, []string{key}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	if len(resp.Coordinators) != 1 {
		return nil, fmt.Errorf("%d coordinators for %s", len(resp.Coordinators), key)
	}
	found := resp.Coordinators[0]
	return client.Broker(int(found.NodeID)), kerr.ErrorForCode(found.ErrorCode)
}

// coordinatorErr keeps only the errors of a coordinator that is not there yet.
func coordinatorErr(code int16) error {
	switch err := kerr.ErrorForCode(code); err {
	case kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator:
		return err
	default:
		return nil
	}
}
