package types

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parse reads a type from its spelling, such as the one that String returns:
// a name in any case and perhaps parameters in parentheses, of which
// varchar(*) is as long as varchar can be; or ARRAY<…>, MAP<…,…>, STRUCT<name:
// type COMMENT 'text', …>. Names of fields may be in backquotes; texts double
// the quote that they are in.
func Parse(s string) (Type, error) {
	r := reader{text: s}
	t, err := r.typ(0)
	if err != nil {
		return Type{}, err
	}
	if r.blank(); r.pos < len(s) {
		return Type{}, fmt.Errorf("type %q goes on after its end, at %q", s, s[r.pos:])
	}
	if t.countParts() > maxParts {
		return Type{}, fmt.Errorf("a type of more than %d parts is not supported", maxParts)
	}
	return t, nil
}

// reader walks over the spelling of a type.
type reader struct {
	text string
	pos  int
}

func (r *reader) blank() {
	for r.pos < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.pos]) >= 0 {
		r.pos++
	}
}

// symbol takes a character, if it comes next.
func (r *reader) symbol(c byte) bool {
	if r.blank(); r.pos < len(r.text) && r.text[r.pos] == c {
		r.pos++
		return true
	}
	return false
}

func isWordByte(c byte) bool {
	return c == '_' || c >= utf8.RuneSelf || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func (r *reader) word() string {
	r.blank()
	start := r.pos
	for r.pos < len(r.text) && isWordByte(r.text[r.pos]) {
		r.pos++
	}
	return r.text[start:r.pos]
}

// quoted takes what stands between two quotes of one kind.
func (r *reader) quoted(quote byte) (string, error) {
	var b strings.Builder
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		r.pos++
		if c == quote && !r.symbolHere(quote) {
			return b.String(), nil
		}
		b.WriteByte(c)
	}
	return "", fmt.Errorf("type %q has no closing %c", r.text, quote)
}

// symbolHere takes a character that comes next without a blank.
func (r *reader) symbolHere(c byte) bool {
	if r.pos < len(r.text) && r.text[r.pos] == c {
		r.pos++
		return true
	}
	return false
}

// typ reads a type that is nested depth deep.
func (r *reader) typ(depth int) (Type, error) {
	name := r.word()
	switch kind := aliases[strings.ToLower(name)]; kind {
	case Array, Map, Struct:
		return r.nested(kind, depth+1)
	}
	if !r.symbol('(') {
		return New(name)
	}
	params, err := r.params(name)
	if err != nil {
		return Type{}, err
	}
	return New(name, params...)
}

// params reads the numbers after an opening parenthesis.
func (r *reader) params(name string) ([]int, error) {
	end := strings.IndexByte(r.text[r.pos:], ')')
	if end < 0 {
		return nil, fmt.Errorf("type %q has no closing parenthesis", r.text)
	}
	inner := r.text[r.pos : r.pos+end]
	r.pos += end + 1
	if strings.EqualFold(name, "varchar") && strings.TrimSpace(inner) == "*" {
		return nil, nil
	}
	var params []int
	for field := range strings.SplitSeq(inner, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil {
			return nil, fmt.Errorf("parameter %q of type %s is not a number", strings.TrimSpace(field), name)
		}
		params = append(params, n)
	}
	return params, nil
}

// nested reads what stands in < and > after the name of a kind.
func (r *reader) nested(kind Kind, depth int) (t Type, err error) {
	name := strings.ToUpper(kind.String())
	if depth > MaxDepth {
		return Type{}, fmt.Errorf("types may be nested %d deep at most", MaxDepth)
	}
	if !r.symbol('<') {
		return Type{}, fmt.Errorf("%s needs its parts: %s", name, forms[kind])
	}
	switch kind {
	case Array:
		var element Type
		if element, err = r.typ(depth); err == nil {
			t = NewArray(element)
		}
	case Map:
		t, err = r.mapOf(depth)
	case Struct:
		var fields []Field
		if fields, err = r.fields(depth); err == nil {
			t, err = NewStruct(fields)
		}
	}
	if err != nil {
		return Type{}, err
	}
	if !r.symbol('>') {
		return Type{}, fmt.Errorf("%s has no closing > at %q; it is written %s", name, r.text[r.pos:], forms[kind])
	}
	return t, nil
}

// forms show how nested types are written.
var forms = map[Kind]string{Array: "ARRAY<type>", Map: "MAP<key type, value type>", Struct: "STRUCT<name: type, …>"}

func (r *reader) mapOf(depth int) (Type, error) {
	key, err := r.typ(depth)
	if err != nil {
		return Type{}, err
	}
	if !r.symbol(',') {
		return Type{}, fmt.Errorf("a MAP has a key and a value: %s", forms[Map])
	}
	value, err := r.typ(depth)
	if err != nil {
		return Type{}, err
	}
	return NewMap(key, value)
}

// fields reads the fields of a struct.
func (r *reader) fields(depth int) ([]Field, error) {
	var fields []Field
	for {
		f, err := r.field(depth)
		if err != nil {
			return nil, err
		}
		if fields = append(fields, f); !r.symbol(',') {
			return fields, nil
		}
	}
}

func (r *reader) field(depth int) (f Field, err error) {
	if r.symbol('`') {
		f.Name, err = r.quoted('`')
	} else {
		f.Name = r.word()
	}
	if err != nil {
		return f, err
	}
	if !r.symbol(':') {
		return f, fmt.Errorf("a field of a STRUCT has a name, a colon and a type: %s", forms[Struct])
	}
	if f.Type, err = r.typ(depth); err != nil {
		return f, err
	}
	before := r.pos
	if !strings.EqualFold(r.word(), "comment") {
		r.pos = before
		return f, nil
	}
	switch {
	case r.symbol('\''):
		f.Comment, err = r.quoted('\'')
	case r.symbol('"'):
		f.Comment, err = r.quoted('"')
	default:
		err = fmt.Errorf("COMMENT of field %q needs a text in quotes", f.Name)
	}
	return f, err
}
