package loaddef

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"shoal/fe/kafka"
	"shoal/internal/clientprops"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/nearest"
)

// A Topic is what kafka(…) in a query reads.
type Topic struct {
	// Load has brokers, topic and properties, as a job's definition would.
	Load *typesv1.RoutineLoad
	// Last asks for the records before the end, instead of those from Start on.
	Last  bool
	Start kafka.Start
	// Offsets names the partitions to read and where to begin; nil for all.
	Offsets map[int32]kafka.Start
}

// topicKeys are the properties of kafka(…) and how FROM KAFKA spells them, by
// whose rules they are read.
var topicKeys = map[string]string{"broker": "kafka_broker_list", "topic": "kafka_topic"}

// ReadTopic reads the properties of kafka(…): broker, topic, offsets, and
// property.* as in CREATE. Times are in zone.
func ReadTopic(properties ast.Properties, zone *time.Location) (*Topic, error) {
	d := &Definition{Load: &typesv1.RoutineLoad{Mode: typesv1.RoutineLoad_MODE_CLASSIC, CustomProperties: map[string]string{}}}
	offsets := ""
	from := ast.DataSource{Type: "KAFKA"}
	for _, p := range properties {
		key := strings.ToLower(p.Key)
		spelled, ok := topicKeys[key]
		switch {
		case key == "offsets":
			offsets = strings.TrimSpace(p.Value)
			continue
		case key == "property."+clientprops.DefaultOffsets, key == "property."+clientprops.GroupID:
			return nil, refuse("kafka(…): property '%s' has no meaning here; offsets says where to begin", p.Key)
		case strings.HasPrefix(key, "property."):
			spelled = key
		case !ok:
			return nil, refuse("kafka(…): unknown property '%s'%s; known are broker, topic, offsets and property.*", p.Key, nearest.Hint(p.Key, []string{"broker", "topic", "offsets"}))
		}
		from.Properties = append(from.Properties, ast.Property{Key: spelled, Value: p.Value})
	}
	if _, err := d.readSource(from); err != nil {
		return nil, err
	}
	switch {
	case len(d.Load.Brokers) == 0:
		return nil, refuse(`kafka(…) needs "broker" = "host:port"`)
	case d.Load.Topic == "":
		return nil, refuse(`kafka(…) needs "topic"`)
	}
	topic := &Topic{Load: d.Load}
	return topic, topic.readOffsets(offsets, zone)
}

// offsetList is partition:offset, partition:offset, ….
var offsetList = regexp.MustCompile(`^\s*\d+\s*:\s*\d+\s*(,\s*\d+\s*:\s*\d+\s*)*$`)

// readOffsets reads offsets: a start for all partitions, or one for each that
// it names. Empty is the beginning.
func (t *Topic) readOffsets(text string, zone *time.Location) (err error) {
	switch {
	case text == "":
		return nil
	case strings.EqualFold(text, "OFFSET_END"):
		t.Last = true
		return nil
	case !offsetList.MatchString(text):
		if t.Start, err = kafka.ParseDefaultStart(text, zone); err != nil {
			return refuse("kafka(…): offsets %v, or partition:offset, …", err)
		}
		return nil
	}
	t.Offsets = map[int32]kafka.Start{}
	for pair := range strings.SplitSeq(text, ",") {
		partition, offset, _ := strings.Cut(pair, ":")
		n, err := strconv.ParseInt(strings.TrimSpace(partition), 10, 32)
		if err != nil {
			return refuse("kafka(…): offsets names partition %s, which no topic has", strings.TrimSpace(partition))
		}
		if _, again := t.Offsets[int32(n)]; again {
			return refuse("kafka(…): offsets names partition %d twice", n)
		}
		if t.Offsets[int32(n)], err = kafka.ParseStart(offset, zone); err != nil {
			return refuse("kafka(…): offsets, partition %d: %v", n, err)
		}
	}
	return nil
}
