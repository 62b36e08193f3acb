// Package demo is what `shoal demo` has beside a standalone Shoal: an embedded
// Kafka broker (kfake) that keeps its log in a folder, a producer of sample
// events, the statements that set a table and a job up, and a progress view.
//
// It uses Shoal only as a user would, by SQL over the MySQL protocol.
package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The topic of the demo: few partitions, so that the job has more tasks than
// partitions.
const (
	Topic      = "web_events"
	Partitions = 2
	Tasks      = 6
)

// StartBroker starts an embedded broker that listens on addr and keeps its data
// under dataDir, so that the demo goes on where it was. The caller closes it.
func StartBroker(ctx context.Context, addr, dataDir string) (*kfake.Cluster, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("broker address %q: %w", addr, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("broker address %q: the port must be a number", addr)
	}
	listen := func(network, address string) (net.Listener, error) {
		_, p, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return net.Listen(network, net.JoinHostPort(host, p))
	}
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port), kfake.ListenFn(listen),
		kfake.DataDir(filepath.Join(dataDir, "kafka")), kfake.BrokerConfigs(map[string]string{
			// Locks end on time, not up to five seconds late.
			"share.record.lock.sweep.interval.ms": "200",
		}))
	if err != nil {
		return nil, fmt.Errorf("the embedded broker does not start on %s (choose another with --kafka-addr): %w", addr, err)
	}
	if err := createTopic(ctx, addr); err != nil {
		broker.Close()
		return nil, err
	}
	return broker, nil
}

func createTopic(ctx context.Context, addr string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = kadm.NewClient(client).CreateTopic(ctx, Partitions, 1, nil, Topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("creating topic %s: %w", Topic, err)
	}
	return nil
}
