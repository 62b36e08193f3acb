package decode

import (
	"math/big"
	"strconv"
	"time"

	"shoal/sql/types"
)

// A shape converts values of one type in a nested column: of the column itself
// or of what it is made of. Both are converted by the same rules: a part that
// is no value of its type is NULL, or with strict mode the whole is none.
type shape struct {
	typ    types.Type
	parts  []*shape // element; key and value; fields
	fields []string // names of a STRUCT's
	cell   Column   // of one row, for a type without parts
	list   parts    // of the value that is being converted
	blame  string   // what was wrong with a part of the last value, if it was
}

func newShape(t types.Type) *shape {
	s := &shape{typ: t}
	if !t.IsNested() {
		s.cell = newColumn(t, 1)
		return s
	}
	for _, part := range t.Parts() {
		s.parts = append(s.parts, newShape(part.Type))
		s.fields = append(s.fields, part.Name)
	}
	return s
}

// convert makes the value as Column.Nested has it.
func (s *shape) convert(v *Value, a *arena, r *rules) (value any, out outcome) {
	s.blame = ""
	if v.Kind <= Null {
		return nil, isNull
	}
	if len(s.parts) == 0 {
		out = s.cell.set(0, v, a, r)
		return s.cell.any(), out
	}
	if !v.unescape(a) {
		return nil, badEscape
	}
	if !s.list.cut(v) {
		return nil, invalid
	}
	switch s.typ.Kind {
	case types.Array:
		return s.array(a, r)
	case types.Map:
		return s.pairs(a, r)
	}
	return s.object(a, r)
}

// part converts a part, which may be NULL.
func (s *shape) part(v *Value, a *arena, r *rules) (value any, out outcome) {
	value, out = s.convert(v, a, r)
	switch {
	case out == good, out == cut && !r.strict:
		return value, good
	case out == isNull, !out.alwaysBad() && !r.strict:
		return nil, good
	}
	return nil, out
}

// fail is the outcome for a value of which a part fails. name says which.
func (s *shape) fail(name string, part *shape, out outcome) (any, outcome) {
	s.blame = name + " " + part.describe(out)
	if out.alwaysBad() {
		return nil, out
	}
	return nil, invalid
}

// describe continues "the value …", as outcome.describe does.
func (s *shape) describe(out outcome) string {
	if s.blame == "" {
		return out.describe(s.typ)
	}
	return invalid.describe(s.typ) + ": " + s.blame
}

func (s *shape) array(a *arena, r *rules) (any, outcome) {
	list, of := &s.list, s.parts[0]
	if list.bracket != '[' {
		return nil, invalid
	}
	elements := make([]any, len(list.values))
	for i := range list.values {
		var out outcome
		if elements[i], out = of.part(&list.values[i], a, r); out != good {
			return s.fail("element "+strconv.Itoa(i+1), of, out)
		}
	}
	return elements, good
}

// pairs makes a MAP. Of equal keys the first counts.
func (s *shape) pairs(a *arena, r *rules) (any, outcome) {
	list, ofKeys, ofValues := &s.list, s.parts[0], s.parts[1]
	if list.bracket != '{' || len(list.keys) != len(list.values) {
		return nil, invalid
	}
	m := Pairs{Keys: make([]any, 0, len(list.keys)), Values: make([]any, 0, len(list.keys))}
	seen := make(map[any]bool, len(list.keys))
	for i := range list.keys {
		key, out := ofKeys.part(&list.keys[i], a, r)
		if key == nil && out == good { // which no map can hold
			out = invalid
		}
		if out != good {
			return s.fail("the key "+list.keys[i].quoted(), ofKeys, out)
		}
		if seen[identity(key)] {
			continue
		}
		seen[identity(key)] = true
		value, out := ofValues.part(&list.values[i], a, r)
		if out != good {
			return s.fail("the value of key "+list.keys[i].quoted(), ofValues, out)
		}
		m.Keys, m.Values = append(m.Keys, key), append(m.Values, value)
	}
	return m, good
}

func (v *Value) quoted() string { return strconv.Quote(string(v.raw)) }

// identity is what equal keys have in common.
func identity(key any) any {
	if n, ok := key.(*big.Int); ok {
		return n.String()
	}
	return key
}

// object makes a STRUCT, whose fields are found by the exact name, else in any
// case, and of equal ones the first. Without names they go by their order.
func (s *shape) object(a *arena, r *rules) (any, outcome) {
	list := &s.list
	if list.bracket != '{' || len(list.keys) == 0 && len(list.values) > 0 && len(list.values) != len(s.fields) {
		return nil, invalid
	}
	fields := make(map[string]any, len(s.fields))
	for i, name := range s.fields {
		var v Value
		switch {
		case len(list.keys) > 0:
			v = list.named(name, a)
		case len(list.values) > 0:
			v = list.values[i]
		}
		value, out := s.parts[i].part(&v, a, r)
		if out != good {
			return s.fail("the field "+name, s.parts[i], out)
		}
		fields[name] = value
	}
	return fields, good
}

// any is the value of a column's only row, as Column.Nested has it.
func (c *Column) any() any {
	switch kind := c.Type.Kind; {
	case c.Text != nil:
		return string(c.Text[0])
	case c.Wide != nil:
		return c.Wide[0].Big()
	case c.Float != nil:
		return c.Float[0]
	case kind == types.Boolean:
		return c.Int[0] != 0
	case kind == types.Date:
		return time.Unix(c.Int[0]*86400, 0).UTC()
	case kind == types.DateTime:
		return time.UnixMicro(c.Int[0]).UTC()
	}
	return c.Int[0]
}
