package decode

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// csvFormat splits messages into lines and lines into fields, as Doris does: a
// row ends at a newline or the message's end, with one carriage return before
// it dropped; an empty line is no row; \N is NULL; nothing is quoted.
type csvFormat struct {
	separator []byte
	binary    bool  // the separator is no text: it may cut a line within a character
	slots     []int // the value that each source field fills, -1 for none
	rest      []byte
	line      int
}

// defaultSeparator is Doris's for COLUMNS TERMINATED BY.
const defaultSeparator = "\t"

func newCSVFormat(separator string, slots []int) *csvFormat {
	if separator == "" {
		separator = defaultSeparator
	}
	return &csvFormat{separator: []byte(separator), binary: !utf8.ValidString(separator), slots: slots}
}

func (f *csvFormat) start(message []byte) { f.rest, f.line = message, 0 }

func (f *csvFormat) next(values []Value, _ *arena) (at Place, reason string, more bool) {
	for len(f.rest) > 0 {
		line := f.cutLine()
		if len(line) > 0 {
			return Place{Line: f.line, Raw: line}, f.split(line, values), true
		}
	}
	return at, "", false
}

// cutLine takes the next line off the message.
func (f *csvFormat) cutLine() []byte {
	line, rest, _ := bytes.Cut(f.rest, []byte{'\n'})
	f.rest = rest
	f.line++
	return bytes.TrimSuffix(line, []byte{'\r'})
}

// split fills values from a line, or answers what is wrong with it.
func (f *csvFormat) split(line []byte, values []Value) (reason string) {
	if !f.binary {
		if reason := checkText(line); reason != "" {
			return reason
		}
	}
	for i := range values {
		values[i] = Value{}
	}
	found := 0
	for more := true; more; found++ {
		var source []byte
		source, line, more = f.cutField(line)
		if f.binary {
			if reason := checkText(source); reason != "" {
				return reason
			}
		}
		if found >= len(f.slots) || f.slots[found] < 0 {
			continue
		}
		values[f.slots[found]] = csvValue(source)
	}
	if found != len(f.slots) {
		return fmt.Sprintf("number of fields: found %d, wanted %d (separator %q)", found, len(f.slots), f.separator)
	}
	return ""
}

// cutField is bytes.Cut, quicker for separators of one byte.
func (f *csvFormat) cutField(line []byte) (field, rest []byte, more bool) {
	if len(f.separator) > 1 {
		return bytes.Cut(line, f.separator)
	}
	if i := bytes.IndexByte(line, f.separator[0]); i >= 0 {
		return line[:i], line[i+1:], true
	}
	return line, nil, false
}

func csvValue(source []byte) Value {
	if len(source) == 2 && source[0] == '\\' && source[1] == 'N' {
		return Value{Kind: Null}
	}
	return Value{Kind: Text, raw: source}
}
