package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The group's settings (KIP-932, KIP-1240), as Kafka names them.
const (
	configReset     = "share.auto.offset.reset"
	configIsolation = "share.isolation.level"
	configLimit     = "share.delivery.count.limit"
	configLock      = "share.record.lock.duration.ms"
	configWindow    = "share.partition.max.record.locks"
	configRenew     = "share.renew.acknowledge.enable"
)

// Settings are what a share group runs with.
type Settings struct {
	Lock          time.Duration
	DeliveryLimit int
	MaxMembers    int
	// Notes say what the job had to do without, one sentence each.
	Notes []string
}

// Configure sets the group up for exactly-once loads: records are read from
// the pinned start, committed ones only, as often as the broker permits, and
// locks last lock or the nearest that the broker permits. The group need not
// exist. What the broker refuses becomes a note, except that an unreachable
// broker is an error. It is safely repeated.
func (c *Client) Configure(ctx context.Context, group string, lock time.Duration) (Settings, error) {
	broker, err := c.brokerConfigs(ctx)
	if errors.Is(err, ErrUnreachable) {
		return Settings{}, err
	}
	limits := brokerLimits(broker)
	lock = min(max(lock, limits.minLock), limits.maxLock)
	wanted := []config{
		{configReset, "earliest"},
		{configIsolation, "read_committed"},
		{configLimit, strconv.Itoa(limits.maxDeliveries)},
		{configLock, strconv.FormatInt(lock.Milliseconds(), 10)},
		// A partition gives at most one window of records per round trip.
		{configWindow, strconv.Itoa(limits.maxWindow)},
		{configRenew, "true"},
	}
	current, err := c.groupConfigs(ctx, group)
	if errors.Is(err, ErrUnreachable) {
		return Settings{}, err
	}
	known := err == nil
	out := Settings{Lock: limits.defaultLock, DeliveryLimit: limits.defaultDeliveries, MaxMembers: limits.maxMembers}
	for _, want := range wanted {
		has, listed := current[want.name]
		// A broker before KIP-1240 renews always, has one window for all groups
		// and lists neither.
		if has == want.value || known && !listed && (want.name == configRenew || want.name == configWindow) {
			continue
		}
		err := c.alterGroupConfigs(ctx, group, kmsg.IncrementalAlterConfigOpSet, want)
		if errors.Is(err, ErrUnreachable) {
			return Settings{}, err
		}
		if err != nil {
			out.Notes = append(out.Notes, fmt.Sprintf("%s could not be set to %s and stays %s: %v", want.name, want.value, cmp.Or(has, "at its default"), err))
		}
	}
	out.readBack(c.groupConfigs(ctx, group))
	return out, nil
}

// config is one setting.
type config struct{ name, value string }

// readBack replaces what was asked for by what the broker says.
func (s *Settings) readBack(effective map[string]string, err error) {
	if err != nil {
		s.Notes = append(s.Notes, fmt.Sprintf("the group's settings could not be read back: %v", err))
		return
	}
	s.Lock = duration(effective, configLock, s.Lock)
	s.DeliveryLimit = number(effective, configLimit, s.DeliveryLimit)
}

// limits are what the broker gives by default and permits at most.
type limits struct {
	defaultLock, minLock, maxLock    time.Duration
	defaultDeliveries, maxDeliveries int
	maxMembers                       int
	maxWindow                        int // records of a partition in flight
}

// brokerLimits reads them off a broker's settings; Kafka's defaults for those
// that are missing.
func brokerLimits(broker map[string]string) limits {
	return limits{
		defaultLock:       duration(broker, "group.share.record.lock.duration.ms", 30*time.Second),
		minLock:           duration(broker, "group.share.min.record.lock.duration.ms", 15*time.Second),
		maxLock:           duration(broker, "group.share.max.record.lock.duration.ms", 60*time.Second),
		defaultDeliveries: number(broker, "group.share.delivery.count.limit", 5),
		maxDeliveries:     number(broker, "group.share.max.delivery.count.limit", 10),
		maxMembers:        number(broker, "group.share.max.size", 200),
		maxWindow:         number(broker, "group.share.max.partition.max.record.locks", 4000),
	}
}

// number is a setting's value, or otherwise.
func number(settings map[string]string, name string, otherwise int) int {
	if n, err := strconv.Atoi(settings[name]); err == nil {
		return n
	}
	return otherwise
}

// duration is the value of a setting in milliseconds, or otherwise.
func duration(settings map[string]string, name string, otherwise time.Duration) time.Duration {
	return time.Duration(number(settings, name, int(otherwise.Milliseconds()))) * time.Millisecond
}

// groupConfigs reads the group's settings, the broker's defaults included.
func (c *Client) groupConfigs(ctx context.Context, group string) (map[string]string, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	req.Resources = append(req.Resources, resource)
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return nil, classify(err, "settings of group '%s'", group)
	}
	values := make(map[string]string)
	for _, r := range resp.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return nil, classify(err, "settings of group '%s'", group)
		}
		for _, config := range r.Configs {
			if config.Value != nil {
				values[config.Name] = *config.Value
			}
		}
	}
	return values, nil
}

// forgetGroupConfigs takes back what Configure set.
func (c *Client) forgetGroupConfigs(ctx context.Context, group string) error {
	return c.alterGroupConfigs(ctx, group, kmsg.IncrementalAlterConfigOpDelete,
		config{name: configReset}, config{name: configIsolation}, config{name: configLimit}, config{name: configLock}, config{name: configWindow})
}

// alterGroupConfigs sets or deletes settings. The broker takes all of a
// request or nothing.
func (c *Client) alterGroupConfigs(ctx context.Context, group string, op kmsg.IncrementalAlterConfigOp, configs ...config) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	for _, set := range configs {
		entry := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		entry.Name, entry.Op = set.name, op
		if op == kmsg.IncrementalAlterConfigOpSet {
			entry.Value = kmsg.StringPtr(set.value)
		}
		resource.Configs = append(resource.Configs, entry)
	}
	req.Resources = append(req.Resources, resource)
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return classify(err, "group '%s'", group)
	}
	i := slices.IndexFunc(resp.Resources, func(r kmsg.IncrementalAlterConfigsResponseResource) bool { return r.ErrorCode != 0 })
	if i < 0 {
		return nil
	}
	err = kerr.ErrorForCode(resp.Resources[i].ErrorCode)
	if message := resp.Resources[i].ErrorMessage; message != nil && *message != "" {
		err = fmt.Errorf("%w: %s", err, *message)
	}
	return classify(err, "group '%s'", group)
}
