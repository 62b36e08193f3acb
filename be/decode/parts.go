package decode

import (
	"bytes"
	"strings"
)

// parts is an array or object, cut up. An object has keys, or, in Doris's own
// text form, perhaps none.
type parts struct {
	bracket byte
	keys    []Value
	values  []Value
}

// named is the value of the key of that name, or missing.
func (p *parts) named(name string, a *arena) (v Value) {
	for i := range p.keys {
		key := &p.keys[i]
		if !key.unescape(a) {
			continue
		}
		if string(key.raw) == name {
			return p.values[i]
		}
		if v.Kind == Missing && strings.EqualFold(string(key.raw), name) {
			v = p.values[i]
		}
	}
	return v
}

// cut cuts up a JSON value, a text that is one, or else a text in Doris's own
// form. It is false for what has no parts.
func (p *parts) cut(v *Value) bool {
	p.keys, p.values = p.keys[:0], p.values[:0]
	switch {
	case v.Kind == Nested, v.Kind == Text && validJSON(v.raw):
		p.cutJSON(v.raw)
		return p.bracket == '[' || p.bracket == '{'
	case v.Kind == Text:
		return p.cutText(v.raw)
	}
	return false
}

// cutJSON cuts up good JSON.
func (p *parts) cutJSON(text []byte) {
	s := scanner{b: text}
	i := s.space(0)
	p.bracket = text[i]
	if p.bracket != '[' && p.bracket != '{' {
		return
	}
	end := p.bracket + 2
	for i = s.space(i + 1); text[i] != end; {
		if p.bracket == '{' {
			key := Value{Kind: Text}
			key.raw, key.escaped, i = s.key(i)
			p.keys = append(p.keys, key)
		}
		p.values = append(p.values, Value{})
		i = s.space(s.value(i, &p.values[len(p.values)-1]))
		if text[i] == ',' {
			i = s.space(i + 1)
		}
	}
}

// cutText cuts up a text in Doris's own form: [1, a, 'b', null], {1:a, "k":[2]}
// or, for a STRUCT by order, {1, a}. Text may stand in quotes of either kind,
// which have no escapes; what stands in brackets is cut up later.
func (p *parts) cutText(s []byte) (ok bool) {
	s = trimBlanks(s)
	if len(s) < 2 || s[0] != '[' && s[0] != '{' || s[len(s)-1] != s[0]+2 {
		return false
	}
	p.bracket = s[0]
	rest := s[1 : len(s)-1]
	for more := len(trimBlanks(rest)) > 0; more; {
		var token []byte
		var at byte
		if token, at, rest, ok = cutToken(rest, p.bracket == '{'); !ok {
			return false
		}
		if at == ':' {
			p.keys = append(p.keys, textToken(token))
			if token, at, rest, ok = cutToken(rest, false); !ok {
				return false
			}
		}
		p.values = append(p.values, textToken(token))
		more = at != 0
	}
	return len(p.keys) == 0 || len(p.keys) == len(p.values)
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
