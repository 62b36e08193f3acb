package decode

import (
	"bytes"
	"fmt"
)

// jsonFormat reads one object from each message and hands its values to the
// columns that its keys name: the exact name first, else in any case, and of
// equal ones the first. Values of columns are found in the first pass and
// converted only once the whole message is known to be good.
type jsonFormat struct {
	names   []string // of the table's columns
	columns map[string]int
	seen    []keyAt
	rank    []rank // how well the value of each column was named
	scan    scanner
	scratch []byte
	pending bool
}

// keyAt remembers the n-th key of the last message, because messages of one
// topic tend to have the same keys in the same order.
type keyAt struct {
	key    []byte
	column int
	rank   rank
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

func newJSONFormat(fields []field, filled []int) *jsonFormat {
	f := &jsonFormat{names: make([]string, len(fields)), columns: map[string]int{}, rank: make([]rank, len(fields))}
	for _, column := range filled {
		if column >= 0 {
			f.names[column] = fields[column].name
			f.columns[fields[column].name] = column
		}
	}
	return f
}

func (f *jsonFormat) start(message []byte) { f.scan.b, f.pending = message, true }

func (f *jsonFormat) next(values []value) (row, bool) {
	s := &f.scan
	s.problem = ""
	start := s.space(0)
	if !f.pending || start == len(s.b) {
		return row{}, false
	}
	f.pending = false
	r := row{line: 1, raw: s.b}
	if r.reason = checkText(s.b); r.reason != "" {
		return r, true
	}
	if s.b[start] != '{' {
		r.reason = f.notAnObject(start)
		return r, true
	}
	named := f.object(start, values)
	switch {
	case s.problem != "":
		r.reason = fmt.Sprintf("not valid JSON: %s at position %d", s.problem, s.at+1)
	case !named:
		r.reason = "no key of the object is the name of a column"
	}
	return r, true
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
func (f *jsonFormat) object(start int, values []value) (named bool) {
	s := &f.scan
	for i := range values {
		values[i], f.rank[i] = value{kind: missing}, noName
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
		var v value
		if v, i = f.value(at); s.problem != "" {
			return false
		}
		if column, rank := f.lookup(n, raw, escaped); rank > noName {
			named = true
			if rank > f.rank[column] {
				values[column], f.rank[column] = v, rank
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
func (f *jsonFormat) value(i int) (v value, end int) {
	s := &f.scan
	switch c := s.peek(i); c {
	case '"':
		if end, v.escaped = s.str(i); s.problem == "" {
			v.kind, v.raw = text, s.b[i+1:end-1]
		}
		return v, end
	case '{', '[':
		v.kind, end = nested, s.any(i)
	case 't', 'f':
		v.kind, end = boolean, s.scalar(i)
	case 'n':
		return value{kind: null}, s.scalar(i)
	default:
		v.kind, end = number, s.scalar(i)
	}
	v.raw = s.b[i:end]
	return v, end
}

// lookup finds the column that the n-th key of the message names.
func (f *jsonFormat) lookup(n int, raw []byte, escaped bool) (int, rank) {
	if len(raw) > maxKey {
		return 0, noName
	}
	if n < len(f.seen) && bytes.Equal(f.seen[n].key, raw) {
		return f.seen[n].column, f.seen[n].rank
	}
	column, rank := f.find(raw, escaped)
	switch {
	case n < len(f.seen):
		f.seen[n] = keyAt{append(f.seen[n].key[:0], raw...), column, rank}
	case n == len(f.seen) && n < maxSeen:
		f.seen = append(f.seen, keyAt{bytes.Clone(raw), column, rank})
	}
	return column, rank
}

func (f *jsonFormat) find(raw []byte, escaped bool) (int, rank) {
	if escaped {
		plain, ok := unescape(f.scratch[:0], raw)
		if !ok {
			return 0, noName
		}
		f.scratch, raw = plain, plain
	}
	if column, ok := f.columns[string(raw)]; ok {
		return column, exactName
	}
	for column, name := range f.names {
		if name != "" && bytes.EqualFold([]byte(name), raw) {
			return column, anyCase
		}
	}
	return 0, noName
}
