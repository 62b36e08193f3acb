package decode

// A Value is one field of a source row, before conversion. The zero Value is
// Missing.
type Value struct {
	Kind    Kind
	escaped bool   // raw holds JSON escapes
	raw     []byte // of a JSON string, what stands between the quotes; of its null, nil
}

// Kind says what a Value is.
type Kind uint8

// The kinds of values.
const (
	Missing Kind = iota // not there: the column's default, else NULL
	Null                // \N of CSV, null of JSON
	Text                // a field of CSV, a string of JSON, the result of an expression
	Number              // of JSON, as it is written
	Boolean             // of JSON
	Nested              // an object or array of JSON, as it is written
)

// TextValue is a Value that holds s, which must be valid UTF-8.
func TextValue(s []byte) Value { return Value{Kind: Text, raw: s} }

// Text is the value as expressions and text columns see it: JSON's true and
// false are 1 and 0, nested values are JSON text. It is false for a value that
// is missing or NULL. Only values that Source gave or TextValue made may be
// asked.
func (v Value) Text() (s []byte, ok bool) {
	switch v.Kind {
	case Missing, Null:
		return nil, false
	case Boolean:
		return digitOf(v.raw), true
	}
	return v.raw, true
}

// Source is the value as PRECEDING FILTER sees it: as Text, but what stands for
// NULL in CSV is text, too.
func (v Value) Source() (s []byte, ok bool) {
	if v.Kind == Null {
		return v.raw, v.raw != nil
	}
	return v.Text()
}

// unescape resolves JSON escapes with room from a. It is false where the text
// would be none.
func (v *Value) unescape(a *arena) bool {
	if !v.escaped {
		return true
	}
	plain, ok := unescape(a.room(len(v.raw)), v.raw)
	if ok {
		v.raw, v.escaped = plain, false
	}
	return ok
}

// digitOf is how Doris reads JSON's true and false wherever text or a number
// is wanted.
func digitOf(literal []byte) []byte {
	if literal[0] == 't' {
		return []byte("1")
	}
	return []byte("0")
}

// arenaBlock is the unit in which an arena takes room.
const arenaBlock = 64 << 10

// arena is room for text that is not in the message as it is.
type arena struct{ block []byte }

// room is n bytes that stay valid until reset.
func (a *arena) room(n int) []byte {
	if cap(a.block)-len(a.block) < n {
		a.block = make([]byte, 0, max(n, arenaBlock)) // the old block lives on where it is used
	}
	start := len(a.block)
	a.block = a.block[:start+n]
	return a.block[start : start : start+n]
}

func (a *arena) reset() {
	if cap(a.block) > batchBytes {
		a.block = nil // one huge text must not be kept for ever
	}
	a.block = a.block[:0]
}
