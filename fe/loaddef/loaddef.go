// Package loaddef reads, changes and prints the definitions of routine load
// jobs.
//
// A definition is a typesv1.RoutineLoad: what CREATE ROUTINE LOAD said, parsed
// and checked, with every default in its place. Create makes one of a statement,
// Alter changes one, Statement prints one as the statement that makes it again,
// and CheckFit tells whether it still fits a table that was altered. The
// properties are tables (job.go, source.go), by which they are read, shown,
// altered and refused, so that a property is known to all of these or to none.
//
// Nothing that was written is ignored: a property, clause or name is carried
// out, or refused by an error that names it and the nearest known one, or, where
// it is Doris's and has nothing to act on here, taken with a note for SHOW
// WARNINGS. What needs a broker is checked by fe/routineload.
//
// Everything here is pure and safe for concurrent use. Definitions that come in
// are never changed.
package loaddef

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"shoal/fe/errno"
	"shoal/fe/kafka"
	"shoal/internal/clientprops"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
)

// A Target is the table that a job loads into.
type Target struct {
	Table  string
	Schema *typesv1.Schema
	Random bool // DISTRIBUTED BY RANDOM
}

// A Definition is what a statement asks for, checked as far as that goes
// without a broker.
type Definition struct {
	Load *typesv1.RoutineLoad
	// Start is where partitions begin that Offsets does not name.
	Start kafka.Start
	// Offsets is where kafka_partitions begin; nil if no offsets were named.
	Offsets map[int32]kafka.Start
	// Adopt asks to go on where the user's share group is, if it is anywhere.
	Adopt bool
	// Notes are for SHOW WARNINGS, one sentence each.
	Notes []string

	zone string // of the session
}

// Create reads a statement. The target is nil for a multi-table job. zone is
// the session's time zone, which a job without one gets.
func Create(stmt *ast.CreateRoutineLoad, target *Target, zone string) (*Definition, error) {
	d := &Definition{zone: zone, Load: &typesv1.RoutineLoad{
		MultiTable: target == nil, JobProperties: map[string]string{}, CustomProperties: map[string]string{},
	}}
	if err := d.setDefaults(); err != nil {
		return nil, err
	}
	if err := d.readMerge(stmt.Merge); err != nil {
		return nil, err
	}
	if err := d.readJobProperties(stmt.Properties, target, func(property) error { return nil }); err != nil {
		return nil, err
	}
	if err := d.readClauses(&stmt.Load, target); err != nil {
		return nil, err
	}
	source, err := d.readSource(stmt.Source)
	if err != nil {
		return nil, err
	}
	if err := d.readStarts(source); err != nil {
		return nil, err
	}
	d.Adopt = d.share() && d.Load.GroupIdGiven && d.Offsets == nil && d.Load.CustomProperties[clientprops.DefaultOffsets] == ""
	if err := d.complete(target); err != nil {
		return nil, err
	}
	return d, nil
}

// complete checks what concerns several properties or clauses at once.
func (d *Definition) complete(target *Target) error {
	load := d.Load
	for _, check := range []func() error{
		d.checkSource, d.checkQuotes, d.checkDeadLetters, d.checkPins,
		func() error { return d.checkFit(target) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	if load.Escape != "" && load.Enclose == "" {
		d.note("escape has no effect without enclose: it is for the text between two enclosing characters")
	}
	return nil
}

// share tells whether the job reads by a share group.
func (d *Definition) share() bool { return d.Load.Mode == typesv1.RoutineLoad_MODE_SHARE_GROUP }

func (d *Definition) note(text string) { d.Notes = append(d.Notes, text) }

// setDefaults fills in every job property as it is if it is not given.
func (d *Definition) setDefaults() error {
	for _, p := range jobProperties {
		if err := p.read(d.Load, d.otherwise(p)); err != nil {
			return err
		}
	}
	return nil
}

// clone is a definition to change.
func clone(load *typesv1.RoutineLoad) *typesv1.RoutineLoad {
	out := proto.Clone(load).(*typesv1.RoutineLoad)
	if out.JobProperties == nil {
		out.JobProperties = map[string]string{}
	}
	if out.CustomProperties == nil {
		out.CustomProperties = map[string]string{}
	}
	if len(out.LoadColumns) == 0 {
		for _, name := range out.Columns { // written by an earlier release
			out.LoadColumns = append(out.LoadColumns, &typesv1.LoadColumn{Name: name})
		}
	}
	out.Columns = nil
	return out
}

// refuse is an error as Doris wraps those of its statements.
func refuse(format string, args ...any) error {
	return errno.New(errno.Unknown, "errCode = 2, detailMessage = "+format, args...)
}

// unsupported refuses what is Doris's and not carried out here yet.
func unsupported(format string, args ...any) error {
	return errno.New(errno.NotSupportedYet, format, args...)
}

func unknownTimeZone(name string) error {
	return errno.New(errno.UnknownTimeZone, "Unknown or incorrect time zone: '%.64s'", name)
}

// indexFold is where a name is among others, in any case; -1 if nowhere.
func indexFold(names []string, name string) int {
	return slices.IndexFunc(names, func(have string) bool { return strings.EqualFold(have, name) })
}
