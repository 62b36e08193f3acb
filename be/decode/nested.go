package decode

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"
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
	blame  string   // what was wrong with a part in the last value, if it was
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
	list, ok := partsOf(v)
	if !ok {
		return nil, invalid
	}
	switch s.typ.Kind {
	case types.Array:
		return s.array(list, a, r)
	case types.Map:
		return s.pairs(list, a, r)
	}
	return s.object(list, a, r)
}

// part converts a part, which may be NULL. name says which it is.
func (s *shape) part(of *shape, v *Value, a *arena, r *rules, name func() string) (value any, out outcome) {
	value, out = of.convert(v, a, r)
	switch {
	case out == good, out == cut && !r.strict:
		return value, good
	case out == isNull:
		return nil, good
	case !out.alwaysBad() && !r.strict:
		return nil, good
	}
	s.blame = name() + " " + of.describe(out)
	if !out.alwaysBad() {
		out = invalid
	}
	return nil, out
}

// describe continues "the value …", as outcome.describe does.
func (s *shape) describe(out outcome) string {
	if s.blame == "" {
		return out.describe(s.typ)
	}
	return invalid.describe(s.typ) + ": " + s.blame
}

func (s *shape) array(list parts, a *arena, r *rules) (any, outcome) {
	if list.bracket != '[' {
		return nil, invalid
	}
	elements := make([]any, len(list.values))
	for i := range list.values {
		var out outcome
		elements[i], out = s.part(s.parts[0], &list.values[i], a, r, func() string { return "element " + strconv.Itoa(i+1) })
		if out != good {
			return nil, out
		}
	}
	return elements, good
}

// pairs makes a MAP. Of equal keys the first counts.
func (s *shape) pairs(list parts, a *arena, r *rules) (any, outcome) {
	if list.bracket != '{' || len(list.keys) != len(list.values) {
		return nil, invalid
	}
	m := Pairs{}
	seen := make(map[any]bool, len(list.keys))
	for i := range list.keys {
		name := func() string { return "the key " + strconv.Quote(string(list.keys[i].raw)) }
		key, out := s.part(s.parts[0], &list.keys[i], a, r, name)
		if out == good && key == nil { // which no map can hold
			s.blame, out = name()+" "+invalid.describe(s.parts[0].typ), invalid
		}
		if out != good {
			return nil, out
		}
		if id := identity(key); seen[id] {
			continue
		} else {
			seen[id] = true
		}
		value, out := s.part(s.parts[1], &list.values[i], a, r, func() string { return "the value of key " + strconv.Quote(string(list.keys[i].raw)) })
		if out != good {
			return nil, out
		}
		m.Keys, m.Values = append(m.Keys, key), append(m.Values, value)
	}
	return m, good
}

// identity is what equal keys have in common.
func identity(key any) any {
	if n, ok := key.(*big.Int); ok {
		return n.String()
	}
	return key
}

// object makes a STRUCT, whose fields are found by the exact name, else in any
// case, and of equal ones the first. Without names they go by their order.
func (s *shape) object(list parts, a *arena, r *rules) (any, outcome) {
	if list.bracket != '{' || len(list.keys) == 0 && len(list.values) > 0 && len(list.values) != len(s.fields) {
		return nil, invalid
	}
	fields := make(map[string]any, len(s.fields))
	for i, name := range s.fields {
		var v *Value
		if len(list.keys) > 0 {
			v = list.named(name, a)
		} else if len(list.values) > 0 {
			v = &list.values[i]
		}
		if v == nil {
			fields[name] = nil
			continue
		}
		value, out := s.part(s.parts[i], v, a, r, func() string { return "the field " + name })
		if out != good {
			return nil, out
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

// parts is an array or object, cut up. An object has keys, or, in Doris's own
// text form, perhaps none.
type parts struct {
	bracket byte
	keys    []Value
	values  []Value
}

// named is the value of the key of that name, or nil.
func (p *parts) named(name string, a *arena) (v *Value) {
	for i := range p.keys {
		key := &p.keys[i]
		if !key.unescape(a) {
			continue
		}
		if string(key.raw) == name {
			return &p.values[i]
		}
		if v == nil && strings.EqualFold(string(key.raw), name) {
			v = &p.values[i]
		}
	}
	return v
}

// partsOf cuts up a JSON value, a text that is one, or else a text in Doris's
// own form.
func partsOf(v *Value) (parts, bool) {
	switch {
	case v.Kind == Nested, v.Kind == Text && validJSON(v.raw):
		s := scanner{b: v.raw}
		return s.parts(s.space(0))
	case v.Kind == Text:
		return textParts(v.raw)
	}
	return parts{}, false
}

// parts cuts up the good JSON value at i. It is false if that has no parts.
func (s *scanner) parts(i int) (p parts, ok bool) {
	p.bracket = s.b[i]
	if p.bracket != '[' && p.bracket != '{' {
		return p, false
	}
	end := p.bracket + 2
	for i = s.space(i + 1); s.b[i] != end; {
		if p.bracket == '{' {
			var key Value
			key.Kind = Text
			key.raw, key.escaped, i = s.key(i)
			p.keys = append(p.keys, key)
		}
		p.values = append(p.values, Value{})
		i = s.space(s.value(i, &p.values[len(p.values)-1]))
		if s.b[i] == ',' {
			i = s.space(i + 1)
		}
	}
	return p, true
}

// textParts cuts up a text in Doris's own form: [1, a, 'b', null], {1:a, "k":[2]}
// or, for a STRUCT by order, {1, a}. Text may stand in quotes of either kind,
// which have no escapes; what stands in brackets is cut up later.
func textParts(s []byte) (p parts, ok bool) {
	s = trimBlanks(s)
	if len(s) < 2 || s[0] != '[' && s[0] != '{' || s[len(s)-1] != s[0]+2 {
		return p, false
	}
	p.bracket = s[0]
	rest := s[1 : len(s)-1]
	for more := len(trimBlanks(rest)) > 0; more; {
		var token []byte
		var at byte
		if token, at, rest, ok = cutToken(rest, p.bracket == '{'); !ok {
			return p, false
		}
		if at == ':' {
			p.keys = append(p.keys, textToken(token))
			if token, at, rest, ok = cutToken(rest, false); !ok {
				return p, false
			}
		}
		p.values = append(p.values, textToken(token))
		more = at != 0
	}
	return p, len(p.keys) == 0 || len(p.keys) == len(p.values)
}

// cutToken cuts s at the first comma, or colon if that counts, outside of
// quotes and brackets. at is 0 at the end.
func cutToken(s []byte, colon bool) (token []byte, at byte, rest []byte, ok bool) {
	depth, quote, begun := 0, byte(0), false
	for i, c := range s {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && (!begun || depth > 0): // not in the midst of a word
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case depth == 0 && (c == ',' || c == ':' && colon):
			return s[:i], c, s[i+1:], true
		}
		if depth < 0 {
			return nil, 0, nil, false
		}
		begun = begun || !isBlank(c)
	}
	return s, 0, nil, depth == 0 && quote == 0
}

// textToken is the value that a token stands for.
func textToken(token []byte) Value {
	token = trimBlanks(token)
	if n := len(token); n >= 2 && (token[0] == '"' || token[0] == '\'') && token[n-1] == token[0] {
		return TextValue(token[1 : n-1])
	}
	if bytes.EqualFold(token, []byte("null")) {
		return Value{Kind: Null}
	}
	return TextValue(token)
}
