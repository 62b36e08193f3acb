package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"shoal/internal/engine/native"
)

// nested returns what makes text of a type with parts: JSON, with a blank
// after commas, as Doris does. It is nil if a part has no text.
func (w writer) nested(t native.Type) appendFunc {
	parts := make([]appendFunc, len(t.Fields))
	for i, field := range t.Fields {
		if parts[i] = w.part(i).element(field.Type); parts[i] == nil {
			return nil
		}
	}
	switch t.Name {
	case "LIST", "ARRAY":
		return appendList(parts[0])
	case "STRUCT":
		return appendStruct(t.Fields, parts)
	case "MAP":
		return appendMap(w.part(0).key(t.Fields[0].Type), parts[1])
	case "UNION":
		return appendMember(parts)
	}
	return nil
}

func appendList(element appendFunc) appendFunc {
	return func(b []byte, v *native.Vector, row int) (_ []byte, err error) {
		b = append(b, '[')
		first, count := v.Elements(row)
		for i := range count {
			if b, err = element(appendComma(b, i), v.Part(0), first+i); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
}

func appendStruct(fields []native.Column, parts []appendFunc) appendFunc {
	return func(b []byte, v *native.Vector, row int) (_ []byte, err error) {
		b = append(b, '{')
		for i, field := range fields {
			b = append(appendString(appendComma(b, i), field.Name), ':')
			if b, err = parts[i](b, v.Part(i), row); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
}

func appendMap(key, value appendFunc) appendFunc {
	return func(b []byte, v *native.Vector, row int) (_ []byte, err error) {
		b = append(b, '{')
		first, count := v.Elements(row)
		for i := range count {
			if b, err = key(appendComma(b, i), v.Part(0), first+i); err != nil {
				return nil, err
			}
			if b, err = value(append(b, ':'), v.Part(1), first+i); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
}

// appendMember writes the member that a UNION has.
func appendMember(members []appendFunc) appendFunc {
	return func(b []byte, v *native.Vector, row int) ([]byte, error) {
		i := v.Member(row)
		return members[i](b, v.Part(i), row)
	}
}

// bare are the types whose text is JSON without quotes.
var bare = wordSet(`NULL BOOLEAN TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT BIGNUM
	FLOAT DOUBLE DECIMAL JSON LIST ARRAY STRUCT MAP UNION`)

// element returns what makes text of a value inside another: texts are quoted
// and NULL is null.
func (w writer) element(t native.Type) appendFunc {
	text := w.text(t)
	switch {
	case text == nil:
		return nil
	case t.Name == "BOOLEAN":
		text = appendBool
	case !bare[t.Name]:
		text = quoted(text)
	}
	return func(b []byte, v *native.Vector, row int) ([]byte, error) {
		if v.Null(row) {
			return append(b, "null"...), nil
		}
		return text(b, v, row)
	}
}

// key returns what makes text of a map's key, which is always quoted.
func (w writer) key(t native.Type) appendFunc {
	element := w.element(t)
	if bare[t.Name] {
		return quoted(element)
	}
	return element
}

func appendBool(b []byte, v *native.Vector, row int) ([]byte, error) {
	return strconv.AppendBool(b, native.At[bool](v, row)), nil
}

func appendComma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ", "...)
	}
	return b
}

func quoted(text appendFunc) appendFunc {
	return func(b []byte, v *native.Vector, row int) ([]byte, error) {
		plain, err := text(nil, v, row)
		if err != nil {
			return nil, err
		}
		return appendString(b, string(plain)), nil
	}
}

// appendString writes a JSON string.
func appendString(b []byte, s string) []byte {
	b, _ = encodeJSON(b, s) // a string always has a JSON form
	return b
}

func encodeJSON(b []byte, value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return b, fmt.Errorf("writing JSON: %w", err)
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...), nil
}

// appendJSON writes a JSON value without blanks, its names in order and its
// numbers digit by digit.
func appendJSON(b []byte, v *native.Vector, row int) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(v.Bytes(row)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, &Error{Kind: Failed, Msg: "invalid JSON: " + err.Error()}
	}
	return encodeJSON(b, value)
}
