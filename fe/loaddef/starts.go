package loaddef

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"shoal/fe/kafka"
	"shoal/internal/clientprops"
	"shoal/sql/timezone"
)

// readStarts reads where the partitions of a new topic begin.
func (d *Definition) readStarts(s *source) error {
	zone, err := d.readDefaultStart()
	if err != nil || len(s.partitions) == 0 && s.offsets == nil {
		return err
	}
	if err := d.readOffsets(s, zone); err != nil {
		return err
	}
	if !d.share() {
		d.Load.KafkaPartitions = slices.Sorted(slices.Values(s.partitions))
		return nil
	}
	for p := range len(s.partitions) {
		if _, named := d.Offsets[int32(p)]; !named {
			return refuse("kafka_partitions must name all partitions of the topic with load_mode share_group, which reads all of them; %d is missing", p)
		}
	}
	return nil
}

// readDefaultStart reads kafka_default_offsets, in the job's time zone.
func (d *Definition) readDefaultStart() (*time.Location, error) {
	zone, err := timezone.Load(d.Load.Timezone)
	if err != nil {
		return nil, unknownTimeZone(d.Load.Timezone)
	}
	d.Start, err = kafka.ParseDefaultStart(d.Load.CustomProperties[clientprops.DefaultOffsets], zone)
	if err != nil {
		return nil, refuse("property.%s: %v", clientprops.DefaultOffsets, err)
	}
	return zone, nil
}

// readOffsets reads kafka_offsets, one for each of kafka_partitions. Without
// them the partitions begin at the default.
func (d *Definition) readOffsets(s *source, zone *time.Location) error {
	switch {
	case len(s.partitions) == 0:
		return refuse("kafka_offsets needs kafka_partitions, which says whose offsets they are")
	case s.offsets != nil && len(s.offsets) != len(s.partitions):
		return refuse("Partitions number should be equals to offsets number: kafka_partitions has %d and kafka_offsets %d", len(s.partitions), len(s.offsets))
	case s.offsets != nil && s.unprefixed:
		return refuse("Only one of kafka_offsets and kafka_default_offsets can be set")
	}
	d.Offsets = make(map[int32]kafka.Start, len(s.partitions))
	timed := 0
	for i, partition := range s.partitions {
		start := d.Start
		if s.offsets != nil {
			var err error
			if start, err = kafka.ParseStart(s.offsets[i], zone); err != nil {
				return refuse("kafka_offsets, partition %d: %v", partition, err)
			}
			if start.Timed() {
				timed++
			}
		}
		d.Offsets[partition] = start
	}
	if timed > 0 && timed < len(s.offsets) {
		return refuse("kafka_offsets: times cannot be mixed with offsets")
	}
	d.keepOffsets(s)
	return nil
}

// keepOffsets keeps the text of kafka_offsets, in the order of partitions.
func (d *Definition) keepOffsets(s *source) {
	d.Load.KafkaOffsets = nil
	offsets := s.offsets
	switch {
	case offsets == nil && !d.share():
		return
	case offsets == nil:
		// A share group is not pinned to partitions that are named, so they are
		// kept by their offsets.
		text := cmp.Or(d.Load.CustomProperties[clientprops.DefaultOffsets], "OFFSET_END")
		offsets = slices.Repeat([]string{text}, len(s.partitions))
	}
	byPartition := make(map[int32]string, len(offsets))
	for i, p := range s.partitions {
		byPartition[p] = strings.ToUpper(offsets[i])
	}
	for _, p := range slices.Sorted(slices.Values(s.partitions)) {
		d.Load.KafkaOffsets = append(d.Load.KafkaOffsets, byPartition[p])
	}
}

// checkPins refuses share groups that would read some partitions only.
func (d *Definition) checkPins() error {
	if d.share() && len(d.Load.KafkaPartitions) > 0 {
		return refuse(`load_mode share_group reads all partitions, but kafka_partitions is '%s'; "kafka_partitions" = "" takes that back`, joinNumbers(d.Load.KafkaPartitions))
	}
	return nil
}

func joinNumbers(numbers []int32) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(int(n))
	}
	return strings.Join(texts, ",")
}
