package decode

import (
	"bytes"
	"fmt"
)

// jsonFormat reads one object from each message and takes the values whose
// keys are wanted: the exact name first, else in any case, and of equal ones
// the first. Values are found in the first pass and used only once the whole
// message is known to be good.
type jsonFormat struct {
	names   []string // the key of each value
	slots   map[string]int
	seen    []keyAt
	rank    []rank // how well each value was named
	scan    scanner
	scratch []byte
	pending bool
}

// keyAt remembers the n-th key of the last message, because messages of one
// topic tend to have the same keys in the same order.
type keyAt struct {
	key  []byte
	slot int
	rank rank
}

const (
	// maxSeen is how many keys of a message are remembered.
	maxSeen = 256
	// maxKey is more bytes than the name of a column takes, escapes included.
	maxKey = 1024
)

// rank says how a key names a column. A higher rank beats a lower one.
type rank uint8

const (
	noName rank = iota
	anyCase
	exactName
)

// newJSONFormat reads the keys called names, each into the value at its slot
// (not at all if that is negative), of width values.
func newJSONFormat(names []string, slots []int, width int) *jsonFormat {
	f := &jsonFormat{names: make([]string, width), slots: map[string]int{}, rank: make([]rank, width)}
	for i, slot := range slots {
		if slot >= 0 {
			f.names[slot] = names[i]
			f.slots[names[i]] = slot
		}
	}
	return f
}

func (f *jsonFormat) start(message []byte) { f.scan.b, f.pending = message, true }

func (f *jsonFormat) next(values []Value, _ *arena) (at Place, reason string, more bool) {
	s := &f.scan
	s.problem = ""
	start := s.space(0)
	if !f.pending || start == len(s.b) {
		return at, "", false
	}
	f.pending = false
	at = Place{Line: 1, Raw: s.b}
	if reason := checkText(s.b); reason != "" {
		return at, reason, true
	}
	if s.b[start] != '{' {
		return at, f.notAnObject(start), true
	}
	named := f.object(start, values)
	switch {
	case s.problem != "":
		return at, fmt.Sprintf("not valid JSON: %s at position %d", s.problem, s.at+1), true
	case !named:
		return at, "no key of the object is the name of a column", true
	}
	return at, "", true
}

// notAnObject answers what is wrong with a message whose value is no object.
func (f *jsonFormat) notAnObject(start int) string {
	s := &f.scan
	f.end(s.any(start))
	switch {
	case s.problem != "":
		return fmt.Sprintf("not valid JSON: %s at position %d", s.problem, s.at+1)
	case s.b[start] == '[':
		return `the message is an array, which needs the job property "strip_outer_array" = "true"`
	}
	return "the message is no JSON object"
}

// end demands that nothing but blanks follow.
func (f *jsonFormat) end(i int) {
	if i = f.scan.space(i); i < len(f.scan.b) {
		f.scan.fail(i, "something follows the value")
	}
}

// object reads the whole message, an object that opens at start, and tells
// whether a key named a column.
func (f *jsonFormat) object(start int, values []Value) (named bool) {
	s := &f.scan
	for i := range values {
		values[i], f.rank[i] = Value{}, noName
	}
	i := s.space(start + 1)
	if s.peek(i) == '}' {
		f.end(i + 1)
		return false
	}
	for n := 0; ; n++ {
		raw, escaped, at := s.key(i)
		if s.problem != "" {
			return false
		}
		var v Value
		if v, i = f.value(at); s.problem != "" {
			return false
		}
		if slot, rank := f.lookup(n, raw, escaped); rank > noName {
			named = true
			if rank > f.rank[slot] {
				values[slot], f.rank[slot] = v, rank
			}
		}
		i = s.space(i)
		switch s.peek(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			f.end(i + 1)
			return named
		default:
			s.fail(i, "a comma or a closing bracket is missing")
			return false
		}
	}
}

// value reads the value at i.
func (f *jsonFormat) value(i int) (v Value, end int) {
	s := &f.scan
	switch c := s.peek(i); c {
	case '"':
		if end, v.escaped = s.str(i); s.problem == "" {
			v.Kind, v.raw = Text, s.b[i+1:end-1]
		}
		return v, end
	case '{', '[':
		v.Kind, end = Nested, s.any(i)
	case 't', 'f':
		v.Kind, end = Boolean, s.scalar(i)
	case 'n':
		return Value{Kind: Null}, s.scalar(i)
	default:
		v.Kind, end = Number, s.scalar(i)
	}
	v.raw = s.b[i:end]
	return v, end
}

// lookup finds the slot that the n-th key of the message names.
func (f *jsonFormat) lookup(n int, raw []byte, escaped bool) (int, rank) {
	if len(raw) > maxKey {
		return 0, noName
	}
	if n < len(f.seen) && bytes.Equal(f.seen[n].key, raw) {
		return f.seen[n].slot, f.seen[n].rank
	}
	slot, rank := f.find(raw, escaped)
	switch {
	case n < len(f.seen):
		f.seen[n] = keyAt{append(f.seen[n].key[:0], raw...), slot, rank}
	case n == len(f.seen) && n < maxSeen:
		f.seen = append(f.seen, keyAt{bytes.Clone(raw), slot, rank})
	}
	return slot, rank
}

func (f *jsonFormat) find(raw []byte, escaped bool) (int, rank) {
	if escaped {
		plain, ok := unescape(f.scratch[:0], raw)
		if !ok {
			return 0, noName
		}
		f.scratch, raw = plain, plain
	}
	if slot, ok := f.slots[string(raw)]; ok {
		return slot, exactName
	}
	for slot, name := range f.names {
		if name != "" && bytes.EqualFold([]byte(name), raw) {
			return slot, anyCase
		}
	}
	return 0, noName
}
