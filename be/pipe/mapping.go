package pipe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"shoal/be/decode"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/timezone"
)

// mapping is how a job with expressions makes a table's rows. It is used by one
// feed at a time.
type mapping struct {
	schema    *typesv1.Schema
	load      *typesv1.RoutineLoad
	source    *decode.Source
	rows      *decode.Rows
	converter *decode.Converter
	zone      *time.Location
	filled    []filling   // one for each column of the table
	before    *evaluation // PRECEDING FILTER and derived columns; nil without
	after     *evaluation // WHERE; nil without
	timed     bool        // the expressions have the time of the txn in them
}

// filling is what a column of the table gets: a derived column, a field of the
// source, or its default where both are below 0.
type filling struct{ derived, field int }

// newMapping compiles the mapping of a job into a table.
func newMapping(ctx context.Context, engine *Engine, schema *typesv1.Schema, load *typesv1.RoutineLoad) (*mapping, error) {
	m := &mapping{schema: schema, load: load}
	var err error
	if m.zone, err = timezone.Load(load.Timezone); err != nil {
		return nil, err
	}
	if m.source, err = decode.NewSource(schema, load); err != nil {
		return nil, err
	}
	if m.converter, err = decode.NewConverter(schema, load); err != nil {
		return nil, err
	}
	m.rows = m.source.NewRows()
	before, after, err := m.compile(time.Unix(0, 0))
	if err != nil {
		return nil, err
	}
	if m.timed, err = m.differs(before, after); err != nil {
		return nil, err
	}
	m.fill(before.derived)
	if !before.empty() {
		m.before, err = newEvaluation(ctx, engine, before)
	}
	if err == nil && !after.empty() {
		m.after, err = newEvaluation(ctx, engine, after)
	}
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *mapping) compile(now time.Time) (before, after expressions, err error) {
	c := compiler{load: m.load, schema: m.schema, now: now}
	if before, err = c.before(m.source.Names()); err == nil && m.load.Where != "" {
		after, err = c.after()
	}
	return before, after, err
}

// differs tells whether expressions are others at another time.
func (m *mapping) differs(before, after expressions) (bool, error) {
	before2, after2, err := m.compile(time.Unix(1_000_000_000, 123_456_000))
	return before.query(0) != before2.query(0) || after.query(0) != after2.query(0), err
}

// fill finds out what the table's columns get. A derived column goes before a
// field of the same name.
func (m *mapping) fill(derived []derivedColumn) {
	for _, c := range m.schema.Columns {
		m.filled = append(m.filled, filling{
			derived: slices.IndexFunc(derived, func(d derivedColumn) bool { return strings.EqualFold(d.name, c.Name) }),
			field:   slices.IndexFunc(m.source.Names(), func(name string) bool { return strings.EqualFold(name, c.Name) }),
		})
	}
}

// setNow gives the time that now() and DEFAULT CURRENT_TIMESTAMP stand for.
func (m *mapping) setNow(ctx context.Context, now time.Time) error {
	m.converter.SetNow(now)
	if !m.timed {
		return nil
	}
	before, after, err := m.compile(now)
	if err == nil && m.before != nil {
		err = m.before.set(ctx, before)
	}
	if err == nil && m.after != nil {
		err = m.after.set(ctx, after)
	}
	return err
}

func (m *mapping) close() (err error) {
	for _, ev := range []*evaluation{m.before, m.after} {
		if ev != nil {
			err = errors.Join(err, ev.close())
		}
	}
	return err
}
