package decode

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	typesv1 "shoal/proto/types/v1"
)

// csvFormat splits messages into lines and lines into fields, as Doris does: a
// row ends at a newline or the message's end, with one carriage return before
// it dropped; an empty line is no row; \N is NULL. Without an enclosing byte
// nothing is quoted.
type csvFormat struct {
	separator       []byte
	binary          bool  // the separator is no text: it may cut a line within a character
	slots           []int // the value that each source field fills, -1 for none
	enclose, escape byte  // 0 for none
	trimQuotes      bool  // "x" is x
	emptyAsNull     bool
	ignoreRedundant bool // fields beyond the last are dropped

	rest []byte // of the message
	line int    // that was read last
}

// defaultSeparator is Doris's for COLUMNS TERMINATED BY.
const defaultSeparator = "\t"

func newCSVFormat(load *typesv1.RoutineLoad, slots []int) (*csvFormat, error) {
	separator := load.ColumnSeparator
	if separator == "" {
		separator = defaultSeparator
	}
	f := &csvFormat{
		separator: []byte(separator), binary: !utf8.ValidString(separator), slots: slots,
		trimQuotes: load.TrimDoubleQuotes, emptyAsNull: load.EmptyFieldAsNull, ignoreRedundant: load.IgnoreRedundantFields,
	}
	for _, property := range []string{load.Enclose, load.Escape} {
		if len(property) > 1 || property != "" && (property[0] == 0 || property[0] >= utf8.RuneSelf) {
			return nil, fmt.Errorf("enclose and escape must be one ASCII character, not %q", property)
		}
	}
	if load.Enclose != "" {
		f.enclose = load.Enclose[0]
		if f.separator[0] == f.enclose {
			return nil, errors.New("enclose must not be the first byte of the column separator: columns could not be told apart")
		}
	}
	if load.Escape != "" && load.Escape != load.Enclose { // an enclosing byte is escaped by itself anyway
		f.escape = load.Escape[0]
	}
	return f, nil
}

func (f *csvFormat) start(message []byte) { f.rest, f.line = message, 0 }

func (f *csvFormat) next(values []Value, a *arena) (at Place, reason string, more bool) {
	for len(f.rest) > 0 {
		line, rest, _ := bytes.Cut(f.rest, []byte{'\n'})
		f.line++
		if f.enclose != 0 && bytes.IndexByte(line, f.enclose) >= 0 {
			at, reason = f.enclosedRow(values, a)
			return at, reason, true
		}
		f.rest = rest
		if line = bytes.TrimSuffix(line, []byte{'\r'}); len(line) > 0 {
			return Place{Line: f.line, Raw: line}, f.split(line, values), true
		}
	}
	return at, "", false
}

// split fills values from a line, or answers what is wrong with it.
func (f *csvFormat) split(line []byte, values []Value) (reason string) {
	if !f.binary {
		if reason := checkText(line); reason != "" {
			return reason
		}
	}
	clear(values)
	found := 0
	for more := true; more; found++ {
		var source []byte
		source, line, more = f.cutField(line)
		if f.binary {
			if reason := checkText(source); reason != "" {
				return reason
			}
		}
		f.set(values, found, f.valueOf(f.trim(source)))
	}
	return f.checkCount(found)
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

// set gives v to the value that the n-th field, from 0, fills.
func (f *csvFormat) set(values []Value, n int, v Value) {
	if n < len(f.slots) && f.slots[n] >= 0 {
		values[f.slots[n]] = v
	}
}

// trim drops double quotes around a field, if that is asked for.
func (f *csvFormat) trim(source []byte) []byte {
	if last := len(source) - 1; f.trimQuotes && last > 0 && source[0] == '"' && source[last] == '"' {
		return source[1:last]
	}
	return source
}

func (f *csvFormat) valueOf(source []byte) Value {
	if len(source) == 2 && source[0] == '\\' && source[1] == 'N' || len(source) == 0 && f.emptyAsNull {
		return Value{Kind: Null, raw: source}
	}
	return Value{Kind: Text, raw: source}
}

func (f *csvFormat) checkCount(found int) (reason string) {
	if found == len(f.slots) || found > len(f.slots) && f.ignoreRedundant {
		return ""
	}
	return fmt.Sprintf("number of fields: found %d, wanted %d (separator %q)", found, len(f.slots), f.separator)
}
