package loaddef

import (
	"maps"
	"slices"

	"shoal/internal/clientprops"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
)

// Alter is a definition as ALTER ROUTINE LOAD makes it of another one: each
// clause and property that is given replaces what was. The target is the table
// that it loads into from now on. Offsets holds the partitions that are to begin
// anew; all of them do if the topic is another. That something is given is the
// caller's to see; what is no change is none.
//
// Beyond Doris: all clauses, load_mode, and an empty value brings back the
// default.
func Alter(have *typesv1.RoutineLoad, stmt *ast.AlterRoutineLoad, target *Target, zone string) (*Definition, error) {
	d := &Definition{zone: zone, Load: clone(have)}
	permit := func(p property) error {
		if p.fixed {
			return refuse("Invalid property '%s': it cannot be altered", p.key)
		}
		return nil
	}
	if err := d.readJobProperties(stmt.Properties, target, permit); err != nil {
		return nil, err
	}
	d.leaveMode(have)
	if err := d.readClauses(&stmt.Load, target); err != nil {
		return nil, err
	}
	from := &source{}
	if stmt.Source != nil {
		// As in Doris, the job's own type counts and not the written one.
		given := ast.DataSource{Type: "KAFKA", Properties: stmt.Source.Properties}
		var err error
		if from, err = d.readSource(given); err != nil {
			return nil, err
		}
	}
	if err := d.alterSource(have, from); err != nil {
		return nil, err
	}
	if err := d.complete(target); err != nil {
		return nil, err
	}
	return d, nil
}

// leaveMode brings the properties that are for the other mode back to their
// defaults.
func (d *Definition) leaveMode(have *typesv1.RoutineLoad) {
	if d.Load.Mode == have.Mode {
		return
	}
	for _, p := range jobProperties {
		if p.mode != 0 && p.mode != d.Load.Mode && p.show(d.Load) != p.otherwise {
			d.note(p.key + " is for load_mode " + modeName(p.mode) + " and was dropped")
			_ = p.read(d.Load, p.otherwise) // a default is always taken
		}
	}
	if !d.share() {
		d.Load.KafkaOffsets = nil // of all partitions; here they would pin
	}
}

// alterSource checks what FROM KAFKA changed, and where to begin anew.
func (d *Definition) alterSource(have *typesv1.RoutineLoad, s *source) error {
	if d.Load.GroupId != have.GroupId || d.Load.GroupIdGiven != have.GroupIdGiven {
		return refuse("property.%s cannot be altered; STOP the job and create it anew", clientprops.GroupID)
	}
	if d.Load.Topic != have.Topic {
		d.Load.KafkaPartitions, d.Load.KafkaOffsets = nil, nil
		return d.readStarts(s)
	}
	zone, err := d.readDefaultStart()
	switch {
	case err != nil:
		return err
	case s.partitions == nil && s.offsets == nil:
		if s.defaults != nil {
			d.note("kafka_default_offsets moves no partition: it holds for another topic, or for those that kafka_partitions names")
		}
		return nil
	case len(s.partitions) == 0 && s.offsets == nil:
		d.Load.KafkaPartitions, d.Load.KafkaOffsets = nil, nil
		return nil
	case s.offsets == nil && d.Load.CustomProperties[clientprops.DefaultOffsets] == "":
		return refuse("Must set kafka_offsets for kafka_partitions, or property.%s", clientprops.DefaultOffsets)
	}
	kept := d.Load.KafkaOffsets
	if err := d.readOffsets(s, zone); err != nil {
		return err
	}
	d.Load.KafkaOffsets = kept // where the job began; ALTER moves it
	return nil
}

// NeedsBroker tells whether anything changed that a broker has to confirm.
func (d *Definition) NeedsBroker(have *typesv1.RoutineLoad) bool {
	load := d.Load
	return d.Offsets != nil || load.Topic != have.Topic || load.Mode != have.Mode || load.DeadLetterTopic != have.DeadLetterTopic ||
		!slices.Equal(load.Brokers, have.Brokers) || !maps.Equal(load.CustomProperties, have.CustomProperties) ||
		load.ShareLockDurationMs != have.ShareLockDurationMs || load.ShareDeliveryLimit != have.ShareDeliveryLimit ||
		load.ShareMaxRecordLocks != have.ShareMaxRecordLocks
}
