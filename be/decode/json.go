package decode

import (
	"fmt"

	"shoal/internal/jsonpath"
	typesv1 "shoal/proto/types/v1"
)

// jsonFormat reads rows from JSON documents, one a message. The row is the
// document, or what json_root names in it; with strip_outer_array that is an
// array of rows. Every row is an object. Values are found in one pass, and
// used only once the whole message is known to be good.
//
// fuzzy_parse and num_as_string change nothing: keys are always found by name
// and quickly, and numbers always keep the digits that were written.
type jsonFormat struct {
	fields  tree
	byName  bool // without jsonpaths
	strip   bool // strip_outer_array
	root    *jsonRoot
	message []byte
	pending bool // the message was not read yet
	scan    scanner
	array   jsonArray
}

// jsonArray is what is left of an array of rows that is known to be good.
type jsonArray struct {
	text   []byte // nil when all was handed out
	at     int    // where the next element begins
	number int    // of elements that were handed out
	root   bool   // json_root is to be looked for in each element
}

// newJSONFormat reads the field called names[i], or found by the i-th path of
// jsonpaths, into the value at slots[i], or not at all if that is negative.
func newJSONFormat(load *typesv1.RoutineLoad, names []string, slots []int) (*jsonFormat, error) {
	f := &jsonFormat{byName: len(load.JsonPaths) == 0, strip: load.StripOuterArray}
	if len(load.JsonPaths) > len(names) {
		return nil, fmt.Errorf("jsonpaths has %d paths for %d columns", len(load.JsonPaths), len(names))
	}
	for i, text := range load.JsonPaths {
		path, err := jsonpath.Compile(text)
		if err != nil {
			return nil, err
		}
		f.fields.addPath(path, slots[i])
	}
	if f.byName {
		f.fields.addNames(names, slots)
	}
	var err error
	f.root, err = newJSONRoot(load.JsonRoot)
	return f, err
}

func (f *jsonFormat) start(message []byte) {
	f.message, f.pending, f.array = message, true, jsonArray{}
}

func (f *jsonFormat) next(values []Value, _ *arena) (at Place, reason string, more bool) {
	if f.pending {
		f.pending = false
		f.scan.b, f.scan.problem = f.message, ""
		if f.scan.space(0) == len(f.message) {
			return at, "", false
		}
		if reason, row := f.document(values); row {
			return Place{Line: 1, Raw: f.message}, reason, true
		}
	}
	if f.array.text == nil {
		return at, "", false
	}
	at, reason = f.element(values)
	return at, reason, true
}

// document reads the message, which is one row, good or not, or else an array
// of rows.
func (f *jsonFormat) document(values []Value) (reason string, row bool) {
	if reason := checkText(f.message); reason != "" {
		return reason, true
	}
	s := &f.scan
	start := s.space(0)
	if f.root == nil && !f.strip && f.message[start] == '{' {
		reason, end := f.object(start, values)
		if s.end(end); s.problem != "" { // of which the reason may be a consequence
			return s.complaint(), true
		}
		return reason, true
	}
	if s.end(s.any(start)); s.problem != "" {
		return s.complaint(), true
	}
	text, subject := f.message[start:], "the message"
	ofElements := f.strip && text[0] == '[' && f.root != nil && !f.root.path[0].IsIndex
	if f.root != nil && !ofElements {
		if text, _ = f.root.find(s, start); text == nil {
			return fmt.Sprintf("the message has no value at json_root %s", f.root.path), true
		}
		subject = f.root.subject
	}
	if !f.strip {
		return f.row(text, subject, values), true
	}
	if text[0] != '[' {
		return subject + ` is no array, and the job property "strip_outer_array" is "true"`, true
	}
	s.b = text
	if first := s.space(1); text[first] != ']' {
		f.array = jsonArray{text: text, at: first, root: ofElements}
	}
	return "", false
}

// row reads the row that text begins with, which is good JSON.
func (f *jsonFormat) row(text []byte, subject string, values []Value) (reason string) {
	switch text[0] {
	case '{':
		f.scan.b = text
		reason, _ = f.object(0, values)
		return reason
	case '[':
		return subject + ` is an array, which needs the job property "strip_outer_array" = "true"`
	}
	return subject + " is no JSON object"
}

// element reads the next element of the array.
func (f *jsonFormat) element(values []Value) (at Place, reason string) {
	s, a := &f.scan, &f.array
	s.b = a.text
	a.number++
	start, end := a.at, 0
	subject := fmt.Sprintf("element %d of the array", a.number)
	switch {
	case a.root:
		var text []byte
		if text, end = f.root.find(s, start); text == nil {
			reason = fmt.Sprintf("%s has no value at json_root %s", subject, f.root.path)
		} else {
			reason = f.row(text, subject+": "+f.root.subject, values)
		}
		s.b = a.text
	case a.text[start] == '{':
		reason, end = f.object(start, values)
	default:
		end = s.any(start)
		reason = subject + " is no JSON object"
	}
	at = Place{Line: a.number, Raw: a.text[start:end]}
	if end = s.space(end); a.text[end] == ',' {
		a.at = s.space(end + 1)
	} else {
		*a = jsonArray{}
	}
	return at, reason
}

// object reads the row that is the object at start.
func (f *jsonFormat) object(start int, values []Value) (reason string, end int) {
	clear(values)
	end, found := f.fields.read(&f.scan, start, values)
	switch {
	case found:
		return "", end
	case f.byName:
		return "no key of the object is the name of a column", end
	}
	return "no path of jsonpaths leads to a value", end
}

// jsonRoot is the property json_root.
type jsonRoot struct {
	path    jsonpath.Path
	subject string // for reasons
	tree    tree
	value   [1]Value
}

// newJSONRoot answers nil where the root is the document.
func newJSONRoot(text string) (*jsonRoot, error) {
	if text == "" {
		return nil, nil
	}
	path, err := jsonpath.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("json_root: %w", err)
	}
	if len(path) == 0 {
		return nil, nil
	}
	r := &jsonRoot{path: path, subject: "the value at json_root " + path.String()}
	r.tree.addPath(path, 0)
	return r, nil
}

// find answers the text of the value that the root names in the value at
// start, nil where there is none, and where the value at start ends.
func (r *jsonRoot) find(s *scanner, start int) (text []byte, end int) {
	r.value[0] = Value{}
	end, found := r.tree.read(s, start, r.value[:])
	switch v := &r.value[0]; {
	case !found:
		return nil, end
	case v.Kind == Null:
		return []byte("null"), end
	case v.Kind == Text:
		return []byte(`""`), end // of which no row is made, whatever it holds
	default:
		return v.raw, end
	}
}
