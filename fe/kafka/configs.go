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

// configOfConsumers tells a broker that lists every setting that it knows, with
// defaults, from one that lists those that were set.
const configOfConsumers = "consumer.session.timeout.ms"

// Wanted is what a job asks of its group. Zero values ask for what serves
// exactly-once loads best: the longest-lived records, the widest window.
type Wanted struct {
	Lock            time.Duration // of an acquired record
	DeliveryLimit   int
	MaxRecordLocks  int // records of a partition in flight
	ReadUncommitted bool
}

// defaultLock is asked for where the job asks for none: longer than most
// commits take, shorter than anybody waits for the records of a dead task.
const defaultLock = 30 * time.Second

// Settings are what a share group runs with.
type Settings struct {
	Lock          time.Duration
	DeliveryLimit int
	MaxMembers    int
	// Notes say what the job had to do without, one sentence each.
	Notes []string
}

// Configure sets the group up for exactly-once loads, from the pinned start on.
// What the job asks for must be within the broker's limits; what it leaves open
// becomes the nearest that they permit. The group need not exist. What the
// broker refuses, or is too old to know, becomes a note, but not where the job
// asked for it; an unreachable broker is an error. It is safely repeated.
func (c *Client) Configure(ctx context.Context, group string, wanted Wanted) (Settings, error) {
	broker, err := c.brokerConfigs(ctx)
	if errors.Is(err, ErrUnreachable) {
		return Settings{}, err
	}
	limits := brokerLimits(broker)
	configs, err := wanted.configs(limits)
	if err != nil {
		return Settings{}, err
	}
	current, err := c.groupConfigs(ctx, group)
	if errors.Is(err, ErrUnreachable) {
		return Settings{}, err
	}
	known := err == nil
	_, complete := current[configOfConsumers]
	out := Settings{Lock: limits.defaultLock, DeliveryLimit: limits.defaultDeliveries, MaxMembers: limits.maxMembers}
	for _, want := range configs {
		has, listed := current[want.name]
		switch {
		case has == want.value, known && !listed && want.old:
			continue
		case complete && !listed:
			err = errors.New("the broker does not know it")
		default:
			err = c.alterGroupConfigs(ctx, group, kmsg.IncrementalAlterConfigOpSet, want)
		}
		if errors.Is(err, ErrUnreachable) {
			return Settings{}, err
		}
		if err != nil {
			out.Notes = append(out.Notes, fmt.Sprintf("%s could not be set to %s and stays %s: %v", want.name, want.value, cmp.Or(has, "at its default"), err))
		}
		if err != nil && want.asked {
			return Settings{}, errors.New(out.Notes[len(out.Notes)-1])
		}
	}
	out.readBack(c.groupConfigs(ctx, group))
	return out, nil
}

// config is one setting.
type config struct {
	name, value string
	// asked: the job did. old: brokers before KIP-1240, which do not list it,
	// behave like that.
	asked, old bool
}

// configs are the group's settings within the broker's limits.
func (w Wanted) configs(l limits) ([]config, error) {
	isolation := "read_committed"
	if w.ReadUncommitted {
		isolation = "read_uncommitted"
	}
	lock := w.Lock
	if lock == 0 {
		lock = min(max(defaultLock, l.minLock), l.maxLock)
	}
	configs := []config{
		{name: configReset, value: "earliest"},
		{name: configIsolation, value: isolation, asked: true},
		{name: configLimit, value: strconv.Itoa(cmp.Or(w.DeliveryLimit, l.maxDeliveries)), asked: w.DeliveryLimit != 0},
		{name: configLock, value: strconv.FormatInt(lock.Milliseconds(), 10), asked: w.Lock != 0},
		// A partition gives at most one window of records per round trip.
		{name: configWindow, value: strconv.Itoa(cmp.Or(w.MaxRecordLocks, l.maxWindow)), asked: w.MaxRecordLocks != 0, old: w.MaxRecordLocks == 0},
		{name: configRenew, value: "true", old: true},
	}
	for _, limit := range []struct {
		asked, low, high int64
		config, broker   string
	}{
		{w.Lock.Milliseconds(), l.minLock.Milliseconds(), l.maxLock.Milliseconds(), configLock, "group.share.min.record.lock.duration.ms and group.share.max.record.lock.duration.ms"},
		{int64(w.DeliveryLimit), int64(l.minDeliveries), int64(l.maxDeliveries), configLimit, "group.share.min.delivery.count.limit and group.share.max.delivery.count.limit"},
		{int64(w.MaxRecordLocks), int64(l.minWindow), int64(l.maxWindow), configWindow, "group.share.min.partition.max.record.locks and group.share.max.partition.max.record.locks"},
	} {
		if limit.asked != 0 && (limit.asked < limit.low || limit.asked > limit.high) {
			return nil, fmt.Errorf("%s = %d is outside of what the broker permits, %d to %d (its %s)", limit.config, limit.asked, limit.low, limit.high, limit.broker)
		}
	}
	return configs, nil
}

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
	defaultLock, minLock, maxLock time.Duration
	defaultDeliveries             int
	minDeliveries, maxDeliveries  int
	maxMembers                    int
	minWindow, maxWindow          int // records of a partition in flight
}

// brokerLimits reads them off a broker's settings; Kafka's defaults for those
// that are missing.
func brokerLimits(broker map[string]string) limits {
	return limits{
		defaultLock:       duration(broker, "group.share.record.lock.duration.ms", 30*time.Second),
		minLock:           duration(broker, "group.share.min.record.lock.duration.ms", 15*time.Second),
		maxLock:           duration(broker, "group.share.max.record.lock.duration.ms", 60*time.Second),
		defaultDeliveries: number(broker, "group.share.delivery.count.limit", 5),
		minDeliveries:     number(broker, "group.share.min.delivery.count.limit", 2),
		maxDeliveries:     number(broker, "group.share.max.delivery.count.limit", 10),
		maxMembers:        number(broker, "group.share.max.size", 200),
		minWindow:         number(broker, "group.share.min.partition.max.record.locks", 100),
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
