package decode

import (
	"fmt"
	"strings"
	"time"

	typesv1 "shoal/proto/types/v1"
	"shoal/sql/timezone"
	"shoal/sql/types"
)

// A Converter puts rows of source values into a Batch with the columns of one
// table, by Doris's rules of conversion and strict mode.
type Converter struct {
	fields []field // the table's columns, in its order
	rules  rules
}

// field is a column of the table and what fills it when a row does not.
type field struct {
	name     string
	typ      types.Type
	nullable bool
	fallback Value // Missing where there is no default
	now      bool  // DEFAULT CURRENT_TIMESTAMP
}

// NewConverter compiles a Converter. An error means that the job does not fit
// the table: the frontend checks that at CREATE.
func NewConverter(schema *typesv1.Schema, load *typesv1.RoutineLoad) (*Converter, error) {
	zone, err := timezone.Load(load.Timezone)
	if err != nil {
		return nil, fmt.Errorf("time zone of the job: %w", err)
	}
	c := &Converter{rules: rules{strict: load.StrictMode, zone: zone, zones: &zones{}}}
	for _, column := range schema.Columns {
		typ, err := types.Parse(column.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", column.Name, err)
		}
		f := field{name: column.Name, typ: typ, nullable: column.Nullable, now: column.DefaultCurrentTimestamp}
		if column.DefaultValue != nil {
			f.fallback = TextValue([]byte(*column.DefaultValue))
		}
		c.fields = append(c.fields, f)
	}
	if err := c.checkDefaults(); err != nil {
		return nil, err
	}
	return c, c.checkNames(loadColumns(load))
}

// checkDefaults tells whether every default is a value of its column.
func (c *Converter) checkDefaults() error {
	batch := c.NewBatch()
	for i, f := range c.fields {
		if out := batch.Columns[i].set(0, &f.fallback, &batch.arena, &c.rules); out != good && out != isNull {
			return fmt.Errorf("column %s: default %q %s", f.name, f.fallback.raw, out.describe(f.typ))
		}
	}
	return nil
}

// checkNames tells whether COLUMNS names fields once, and fills every column
// that must be filled.
func (c *Converter) checkNames(columns []*typesv1.LoadColumn) error {
	plain, filled := map[string]bool{}, map[string]bool{}
	for _, column := range columns {
		name := strings.ToLower(column.Name)
		filled[name] = true
		if column.Expr != "" {
			continue
		}
		if plain[name] {
			return fmt.Errorf("COLUMNS names %s twice", column.Name)
		}
		plain[name] = true
	}
	if len(plain) == 0 {
		return nil // the source has a field for every column
	}
	for _, f := range c.fields {
		if !filled[strings.ToLower(f.name)] && !f.nullable && f.fallback.Kind == Missing && !f.now {
			return fmt.Errorf("column %s is NOT NULL and has no default, but COLUMNS does not name it", f.name)
		}
	}
	return nil
}

// NewBatch makes an empty Batch with the table's columns.
func (c *Converter) NewBatch() *Batch {
	list := make([]types.Type, len(c.fields))
	for i, f := range c.fields {
		list[i] = f.typ
	}
	return NewBatch(list)
}

// SetNow gives the time that DEFAULT CURRENT_TIMESTAMP stands for, until the
// next call. It is stored in the job's time zone.
func (c *Converter) SetNow(now time.Time) {
	local := now.In(c.rules.zone).Format("2006-01-02 15:04:05.000000")
	for i := range c.fields {
		if c.fields[i].now {
			c.fields[i].fallback = TextValue([]byte(local))
		}
	}
}

// Add converts values, one for each column of the table, into the next row of
// b, which must not be full, or answers why it could not; then b is as it was.
// What the values hold must stay unchanged until b is reset. An error names
// the place that is given.
func (c *Converter) Add(b *Batch, values []Value, at Place) *RowError {
	textLen := b.textLen
	for i := range values {
		if out := c.fill(b, i, &values[i]); out != good {
			b.undo(i, textLen)
			return c.blame(b, i, &values[i], out, at)
		}
	}
	b.Rows++
	return nil
}

// fill sets column i of the batch's next row by Doris's rules: a failed
// conversion is NULL unless the job is strict, and a NULL must be allowed.
func (c *Converter) fill(b *Batch, i int, v *Value) outcome {
	f := &c.fields[i]
	if v.Kind == Missing {
		*v = f.fallback
	}
	b.textLen += len(v.raw)
	out := b.Columns[i].set(b.Rows, v, &b.arena, &c.rules)
	switch {
	case out == good:
		return good
	case out == cut && !c.rules.strict:
		return good
	case out == isNull && f.nullable:
		b.Columns[i].Null[b.Rows] = true
		return good
	case out.alwaysBad() || c.rules.strict || !f.nullable:
		return out
	}
	b.Columns[i].Null[b.Rows] = true
	return good
}

func (c *Converter) blame(b *Batch, i int, v *Value, out outcome, at Place) *RowError {
	f, what := &c.fields[i], out.describe(c.fields[i].typ)
	if shape := b.Columns[i].shape; shape != nil && out != isNull {
		what = shape.describe(out)
	}
	bad := &RowError{Line: at.Line, Column: f.name, Raw: at.Raw}
	if v.Kind > Null {
		bad.Source = v.raw
	}
	bad.Reason = fmt.Sprintf("column %s: the value %s", f.name, what)
	if out != isNull && !out.alwaysBad() && !c.rules.strict {
		bad.Reason += ", and the column is NOT NULL"
	}
	if out == cut {
		bad.Reason += fmt.Sprintf(" (it has %d)", len(v.raw))
	}
	return bad
}
