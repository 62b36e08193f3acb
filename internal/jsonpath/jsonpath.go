// Package jsonpath reads the paths of Routine Load's properties jsonpaths and
// json_root.
//
// A path is $ followed by keys and indexes, as in Doris: $.a.b, $.list[1].n,
// $."a.b" for a key with a dot. $ alone, and $. as well, is the whole document.
// A path names at most one value, so wildcards, slices and filters are refused,
// by an error that says where and what to write instead. Both sides use the
// package: the frontend to check a job, the backend to run it.
//
// A Path is plain data. There is no evaluation here, no state and no I/O; work
// is linear in the text, which may be anything.
package jsonpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxSteps is the most keys and indexes that a path may have.
const MaxSteps = 64

// maxIndex is the highest index of an array that a path may name.
const maxIndex = 1<<31 - 1

// A Step goes from a value to one in it: to the key of an object, or, where
// IsIndex is set, to an element of an array, from 0.
type Step struct {
	Key     string
	Index   int
	IsIndex bool
}

// A Path is the steps from a document to a value in it. Without steps it is
// the document itself.
type Path []Step

// CompileList reads the property jsonpaths: a JSON array of path strings.
func CompileList(text string) ([]Path, error) {
	var texts []string
	if err := json.Unmarshal([]byte(text), &texts); err != nil {
		return nil, fmt.Errorf(`jsonpaths must be a JSON array of paths, such as ["$.id","$.tags[0]"]: %w`, err)
	}
	if len(texts) == 0 {
		return nil, errors.New("jsonpaths has no path: leave the property out to read by the names of columns")
	}
	paths := make([]Path, len(texts))
	for i, s := range texts {
		var err error
		if paths[i], err = Compile(s); err != nil {
			return nil, fmt.Errorf("jsonpaths, path %d: %w", i+1, err)
		}
	}
	return paths, nil
}

// Compile reads one path. Its error quotes the path and says what is wrong
// with it, and where.
func Compile(text string) (Path, error) {
	p := parser{text: text}
	path, err := p.path()
	if err != nil {
		return nil, fmt.Errorf("JSON path %q: %w", text, err)
	}
	return path, nil
}

// String is the path as Compile reads it back.
func (p Path) String() string {
	var s strings.Builder
	s.WriteByte('$')
	for _, step := range p {
		switch {
		case step.IsIndex:
			fmt.Fprintf(&s, "[%d]", step.Index)
		case step.Key == "" || step.Key == "*" || strings.ContainsAny(step.Key, `.[]"\`):
			s.WriteString(`."` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(step.Key) + `"`)
		default:
			s.WriteString("." + step.Key)
		}
	}
	return s.String()
}

// parser stands at position at of a path's text.
type parser struct {
	text string
	at   int
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("%s at position %d", fmt.Sprintf(format, args...), p.at+1)
}

func (p *parser) path() (Path, error) {
	if !strings.HasPrefix(p.text, "$") {
		return nil, p.errorf("a path begins with $, which is missing")
	}
	p.at++
	if p.text == "$." {
		return Path{}, nil
	}
	path := Path{}
	for p.at < len(p.text) {
		if len(path) == MaxSteps {
			return nil, p.errorf("more than %d keys and indexes", MaxSteps)
		}
		step, err := p.step()
		if err != nil {
			return nil, err
		}
		path = append(path, step)
	}
	return path, nil
}

// step reads .key, ."key", [index] or .[index].
func (p *parser) step() (Step, error) {
	switch p.text[p.at] {
	case '[':
		return p.index()
	case '.':
	default:
		return Step{}, p.errorf("a dot or a bracket is missing before %q", p.text[p.at:])
	}
	p.at++
	switch {
	case p.at == len(p.text):
		return Step{}, p.errorf("a key is missing after the last dot")
	case p.text[p.at] == '[':
		return p.index()
	case p.text[p.at] == '"':
		return p.quoted()
	}
	return p.plain()
}

func (p *parser) index() (Step, error) {
	length := strings.IndexByte(p.text[p.at:], ']')
	if length < 0 {
		return Step{}, p.errorf("the bracket is not closed")
	}
	inner := p.text[p.at+1 : p.at+length]
	if inner == "*" {
		return Step{}, p.errorf("[*] stands for many values, and a column takes one: name the array itself, or an index")
	}
	n, err := strconv.ParseUint(inner, 10, 64)
	if err != nil || n > maxIndex {
		return Step{}, p.errorf("%q is no index: an index is a number from 0", inner)
	}
	p.at += length + 1
	return Step{Index: int(n), IsIndex: true}, nil
}

// quoted reads "key", where \" and \\ stand for a quote and a backslash.
func (p *parser) quoted() (Step, error) {
	var key strings.Builder
	for i := p.at + 1; i < len(p.text); i++ {
		c := p.text[i]
		switch {
		case c == '"':
			p.at = i + 1
			return Step{Key: key.String()}, nil
		case c == '\\' && i+1 < len(p.text) && (p.text[i+1] == '"' || p.text[i+1] == '\\'):
			i++
			c = p.text[i]
		}
		key.WriteByte(c)
	}
	return Step{}, p.errorf("the quoted key is not closed")
}

func (p *parser) plain() (Step, error) {
	key := p.text[p.at:]
	if end := strings.IndexAny(key, `.[]"`); end >= 0 {
		key = key[:end]
	}
	switch key {
	case "":
		return Step{}, p.errorf("a key is missing")
	case "*":
		return Step{}, p.errorf("* stands for many values, and a column takes one: name a key")
	}
	p.at += len(key)
	return Step{Key: key}, nil
}
