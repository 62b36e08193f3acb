package kafka

import (
	"context"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// needed are the requests without which a share-group job cannot run.
var needed = []kmsg.Key{
	kmsg.ShareGroupHeartbeat, kmsg.ShareGroupDescribe, kmsg.ShareFetch, kmsg.ShareAcknowledge,
	kmsg.DescribeShareGroupOffsets, kmsg.AlterShareGroupOffsets,
}

// internalTopics are those that share groups keep their state in, with the
// broker setting that says how many replicas a new one gets.
var internalTopics = map[string]string{
	"__share_group_state": "share.coordinator.state.topic.replication.factor",
	"__consumer_offsets":  "offsets.topic.replication.factor",
}

// CheckShareGroups tells whether the brokers offer share groups (KIP-932).
// The error wraps ErrNoShareGroups and names the version or setting that is
// missing.
func (c *Client) CheckShareGroups(ctx context.Context) error {
	resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, c.cl)
	if err != nil {
		return classify(err, "asking the broker for its version")
	}
	if err := offersShareGroups(resp); err != nil {
		return err
	}
	return c.checkReplicas(ctx)
}

// offersShareGroups reads it off the requests and features of a broker.
func offersShareGroups(resp *kmsg.ApiVersionsResponse) error {
	versions := kversion.FromApiVersionsResponse(resp)
	for _, key := range needed {
		if !versions.HasKey(key.Int16()) {
			return fmt.Errorf("the broker (%s) has %w: it does not know %s; share groups need Kafka 4.2 or newer",
				versions.VersionGuess(), ErrNoShareGroups, key.Name())
		}
	}
	for _, f := range resp.FinalizedFeatures {
		if f.Name == "share.version" && f.MaxVersionLevel >= 1 {
			return nil
		}
	}
	return fmt.Errorf("the broker (%s) has %w: its feature share.version is 0; run kafka-features.sh upgrade --feature share.version=1",
		versions.VersionGuess(), ErrNoShareGroups)
}

// checkReplicas finds the commonest reason why a fresh small cluster never
// forms a group: its internal topics want more replicas than there are
// brokers. A broker that may not be asked is not checked.
func (c *Client) checkReplicas(ctx context.Context) error {
	meta, err := c.adm.BrokerMetadata(ctx)
	if err != nil {
		return classify(err, "metadata of the cluster")
	}
	topics, err := c.adm.ListTopicsWithInternal(ctx, "__share_group_state", "__consumer_offsets")
	if err != nil {
		return classify(err, "metadata of the cluster's internal topics")
	}
	configs, err := c.brokerConfigs(ctx)
	if err != nil {
		return nil
	}
	for topic, setting := range internalTopics {
		replicas, err := strconv.Atoi(configs[setting])
		if err == nil && topics[topic].Err != nil && replicas > len(meta.Brokers) {
			return fmt.Errorf("the cluster has %w that work: %s is %d, but there are %d brokers, so %s cannot be created; lower the setting or add brokers",
				ErrNoShareGroups, setting, replicas, len(meta.Brokers), topic)
		}
	}
	return nil
}

// brokerConfigs are the settings of any one broker.
func (c *Client) brokerConfigs(ctx context.Context) (map[string]string, error) {
	meta, err := c.adm.BrokerMetadata(ctx)
	if err != nil {
		return nil, classify(err, "metadata of the cluster")
	}
	if len(meta.Brokers) == 0 {
		return nil, ErrUnreachable
	}
	described, err := c.adm.DescribeBrokerConfigs(ctx, meta.Brokers[0].NodeID)
	if err != nil {
		return nil, classify(err, "settings of broker %d", meta.Brokers[0].NodeID)
	}
	return configValues(described)
}

// configValues flattens the answer for one resource.
func configValues(described kadm.ResourceConfigs) (map[string]string, error) {
	values := make(map[string]string)
	for _, resource := range described {
		if resource.Err != nil {
			return nil, classify(resource.Err, "settings of '%s'", resource.Name)
		}
		for _, config := range resource.Configs {
			values[config.Key] = config.MaybeValue()
		}
	}
	return values, nil
}
