package loaddef

import (
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"shoal/internal/clientprops"
	"shoal/sql/ast"
	"shoal/sql/nearest"
)

// source is what FROM KAFKA (…) said of where to begin.
type source struct {
	partitions []int32  // nil if not given
	offsets    []string // nil if not given
	// defaults is kafka_default_offsets, nil if not given; unprefixed tells
	// that it was given without property.
	defaults   *string
	unprefixed bool
}

// sourceProperty is a property of FROM KAFKA.
type sourceProperty struct {
	key  string
	read func(d *Definition, s *source, value string) error
}

// sourceProperties are all that FROM KAFKA may have, beside property.*.
var sourceProperties = []sourceProperty{
	{"kafka_broker_list", readBrokers},
	{"kafka_topic", readTopic},
	{"kafka_partitions", readPinned},
	{"kafka_offsets", readOffsets},
	// Doris accepts it without the prefix too, and forgets it.
	{clientprops.DefaultOffsets, func(d *Definition, s *source, value string) error {
		s.unprefixed = true
		return readDefaults(d, s, value)
	}},
	{"property." + clientprops.DefaultOffsets, readDefaults},
	{"kafka_table_name_location", inMultiTable("kafka_table_name_location", "value", "the table is named in the value, before its first |")},
	{"kafka_table_name_format", inMultiTable("kafka_table_name_format", "TEXT", "the table is named by text")},
	{"kafka_text_table_name_field_index", inMultiTable("kafka_text_table_name_field_index", "0", "the table's name comes first")},
	{"kafka_text_table_name_field_delimiter", inMultiTable("kafka_text_table_name_field_delimiter", "|", "the table's name ends at the first |")},
}

func sourceKeys() []string {
	keys := make([]string, len(sourceProperties))
	for i, p := range sourceProperties {
		keys[i] = p.key
	}
	return keys
}

// readSource reads FROM KAFKA (…) over what is there.
func (d *Definition) readSource(from ast.DataSource) (*source, error) {
	if !strings.EqualFold(from.Type, "KAFKA") {
		return nil, refuse("Unknown data source type '%s'; KAFKA is known", from.Type)
	}
	s := &source{}
	for _, p := range from.Properties {
		if err := d.readSourceProperty(s, p.Key, strings.TrimSpace(p.Value)); err != nil {
			return nil, err
		}
	}
	if group, ok := d.Load.CustomProperties[clientprops.GroupID]; ok {
		if group == "" {
			return nil, refuse("property.group.id must not be empty")
		}
		d.Load.GroupId, d.Load.GroupIdGiven = group, true
	}
	// An empty value is as if it were not given.
	maps.DeleteFunc(d.Load.CustomProperties, func(_, value string) bool { return value == "" })
	d.Load.ReadUncommitted = clientprops.ReadUncommitted(d.Load.CustomProperties)
	return s, nil
}

func (d *Definition) readSourceProperty(s *source, written, value string) error {
	key := strings.ToLower(written)
	if i := slices.IndexFunc(sourceProperties, func(p sourceProperty) bool { return p.key == key }); i >= 0 {
		return sourceProperties[i].read(d, s, value)
	}
	if name, ok := strings.CutPrefix(key, "property."); ok {
		if value == hidden && clientprops.IsSecret(name) {
			return refuse("%s: %s stands for a secret that was not shown; write the secret, or a reference to it", written, hidden)
		}
		d.Load.CustomProperties[name] = value
		return nil
	}
	if strings.HasPrefix(key, "aws.") {
		return unsupported("Data source property '%s' is not supported yet", written)
	}
	if slices.ContainsFunc(jobProperties, func(p property) bool { return p.key == key }) {
		return refuse("Unknown data source property '%s': it belongs into PROPERTIES (…)", written)
	}
	if hint := nearest.Hint(written, sourceKeys()); hint != "" {
		return refuse("Unknown data source property '%s'%s", written, hint)
	}
	return refuse("Unknown data source property '%s'; known are %s and property.*", written, strings.Join(sourceKeys(), ", "))
}

// checkSource checks what every job needs.
func (d *Definition) checkSource() error {
	switch {
	case len(d.Load.Brokers) == 0:
		return refuse("kafka_broker_list is a required property")
	case d.Load.Topic == "":
		return refuse("kafka_topic is a required property")
	}
	return nil
}

// readBrokers reads host:port, host:port.
func readBrokers(d *Definition, _ *source, list string) error {
	d.Load.Brokers = nil
	for broker := range strings.SplitSeq(list, ",") {
		broker = strings.Join(strings.Fields(broker), "")
		host, port, err := net.SplitHostPort(broker)
		number, portErr := strconv.ParseUint(port, 10, 16)
		if err != nil || portErr != nil || host == "" || number == 0 || strings.ContainsAny(host, "/@") {
			return refuse("kafka_broker_list: '%s' is not host:port", broker)
		}
		d.Load.Brokers = append(d.Load.Brokers, broker)
	}
	return nil
}

func readTopic(d *Definition, _ *source, value string) error {
	d.Load.Topic = strings.Join(strings.Fields(value), "")
	if d.Load.Topic == "" {
		return nil
	}
	return checkTopic("kafka_topic", d.Load.Topic)
}

// topicName is what Kafka permits.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

func checkTopic(key, name string) error {
	switch {
	case strings.Contains(name, ","):
		return unsupported("%s: one topic is supported, not '%s'", key, name)
	case !topicName.MatchString(name), name == ".", name == "..":
		return refuse("%s: '%s' cannot be a topic's name: letters, digits, '.', '_' and '-' can", key, name)
	}
	return nil
}

// readPinned reads kafka_partitions.
func readPinned(_ *Definition, s *source, value string) error {
	s.partitions = []int32{}
	if value == "" {
		return nil
	}
	for text := range strings.SplitSeq(value, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
		switch {
		case err != nil || n < 0:
			return refuse("Invalid kafka partition: '%s' is no number >= 0", strings.TrimSpace(text))
		case slices.Contains(s.partitions, int32(n)):
			return refuse("kafka_partitions names partition %d twice", n)
		}
		s.partitions = append(s.partitions, int32(n))
	}
	return nil
}

func readOffsets(_ *Definition, s *source, value string) error {
	s.offsets = strings.Split(value, ",")
	for i, text := range s.offsets {
		s.offsets[i] = strings.TrimSpace(text)
	}
	return nil
}

func readDefaults(d *Definition, s *source, value string) error {
	if s.defaults != nil && *s.defaults != value {
		return refuse("kafka_default_offsets is given twice: '%s' and '%s'", *s.defaults, value)
	}
	s.defaults = &value
	d.Load.CustomProperties[clientprops.DefaultOffsets] = value
	return nil
}

// inMultiTable reads a property of multi-table jobs that has one value.
func inMultiTable(key, only, why string) func(*Definition, *source, string) error {
	return func(d *Definition, _ *source, value string) error {
		switch {
		case !d.Load.MultiTable:
			return refuse("%s is for multi-table jobs; this one has ON", key)
		case value != "" && !strings.EqualFold(value, only):
			return unsupported("%s = '%s' is not supported: %s", key, value, why)
		}
		return nil
	}
}
