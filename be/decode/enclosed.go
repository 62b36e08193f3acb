package decode

import (
	"bytes"
	"fmt"
)

// enclosedRow reads the row at the start of f.rest, in whose first line the
// enclosing byte is. A field that begins with it goes on to the next one that a
// separator or the line's end follows, so it may hold both. Within, a doubled
// enclosing byte is one, an escaped one too, and a lone one is kept.
func (f *csvFormat) enclosedRow(values []Value, a *arena) (at Place, reason string) {
	r := rowReader{csvFormat: f, b: f.rest, lineEnd: -1}
	clear(values)
	found := 0
	for more := true; more; found++ {
		read := r.plain
		if r.at < len(r.b) && r.b[r.at] == f.enclose {
			read = r.enclosed
		}
		if wrong := read(values, found, a); reason == "" {
			reason = wrong
		}
		if more = bytes.HasPrefix(r.b[r.at:], f.separator); more {
			r.at += len(f.separator)
		}
	}
	ending, _ := lineEnding(r.b[r.at:])
	at = Place{Line: f.line, Raw: r.b[:r.at]}
	f.rest = r.b[r.at+ending:]
	f.line += bytes.Count(at.Raw, []byte{'\n'})
	if !f.binary {
		if wrong := checkText(at.Raw); wrong != "" {
			return at, wrong
		}
	}
	if reason == "" {
		reason = f.checkCount(found)
	}
	return at, reason
}

// rowReader reads the fields of one row.
type rowReader struct {
	*csvFormat
	b       []byte
	at      int // the next field, or what ends the last one
	lineEnd int // where the line ends that at is in; behind at until it is looked for
}

// lineEnding is the length of the newline, carriage return and newline, or
// carriage return at the message's end, that b begins with.
func lineEnding(b []byte) (length int, ok bool) {
	switch {
	case len(b) == 0:
		return 0, true
	case b[0] == '\n':
		return 1, true
	case b[0] == '\r' && len(b) == 1:
		return 1, true
	case b[0] == '\r' && b[1] == '\n':
		return 2, true
	}
	return 0, false
}

// plain reads a field that is not enclosed.
func (r *rowReader) plain(values []Value, n int, _ *arena) (reason string) {
	if r.lineEnd < r.at {
		r.lineEnd = len(r.b)
		if i := bytes.IndexByte(r.b[r.at:], '\n'); i >= 0 {
			r.lineEnd = r.at + i
		}
		if r.lineEnd > r.at && r.b[r.lineEnd-1] == '\r' {
			r.lineEnd--
		}
	}
	source, _, _ := r.cutField(r.b[r.at:r.lineEnd])
	r.at += len(source)
	if r.binary {
		if reason := checkText(source); reason != "" {
			return reason
		}
	}
	r.set(values, n, r.valueOf(r.trim(source)))
	return ""
}

// enclosed reads an enclosed field.
func (r *rowReader) enclosed(values []Value, n int, a *arena) (reason string) {
	start := r.at + 1
	end, escaped := r.closing(start)
	if end < 0 {
		r.at = len(r.b)
		return fmt.Sprintf("field %d begins with the enclosing byte %q, and the message ends before it is closed", n+1, r.enclose)
	}
	source := r.b[start:end]
	r.at = end + 1
	if r.binary {
		if reason := checkText(source); reason != "" {
			return reason
		}
	}
	v := r.valueOf(source)
	if escaped && v.Kind == Text {
		v.raw = r.unescape(a.room(len(source)), source)
	}
	r.set(values, n, v)
	return ""
}

// closing finds the enclosing byte that closes the field whose text begins at
// start, or answers a negative position. escaped tells whether the text has a
// pair that stands for one byte.
func (r *rowReader) closing(start int) (end int, escaped bool) {
	for i := start; i < len(r.b); i++ {
		switch c := r.b[i]; {
		case c != r.enclose && c != r.escape: // nearly always
		case c == r.enclose && r.closes(i):
			return i, escaped
		case r.isPair(r.b, i):
			escaped = true
			i++
		}
	}
	return -1, false
}

// closes tells whether the field ends behind the enclosing byte at i.
func (r *rowReader) closes(i int) bool {
	_, ends := lineEnding(r.b[i+1:])
	return ends || bytes.HasPrefix(r.b[i+1:], r.separator)
}

// isPair tells whether a pair of bytes at i stands for the second of them: a
// doubled enclosing byte, or an escaped enclosing or escape byte.
func (f *csvFormat) isPair(b []byte, i int) bool {
	if i+1 >= len(b) {
		return false
	}
	switch first, second := b[i], b[i+1]; {
	case first == f.enclose:
		return second == f.enclose
	case first == f.escape && f.escape != 0:
		return second == f.enclose || second == f.escape
	}
	return false
}

// unescape appends source to room, with one byte for each pair.
func (f *csvFormat) unescape(room, source []byte) []byte {
	for i := 0; i < len(source); i++ {
		if f.isPair(source, i) {
			i++
		}
		room = append(room, source[i])
	}
	return room
}
