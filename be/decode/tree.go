package decode

import (
	"bytes"

	"shoal/internal/jsonpath"
)

// A tree is the values that are wanted of a JSON value: all of them are found
// in one pass over it. Of equal keys the first counts. Names of columns are
// found by the exact name first, else in any case; keys of paths are exact.
type tree struct {
	root    node
	longest int // bytes that a wanted key takes at most, with escapes
	pass    uint64
	found   bool
	scratch []byte
}

// node is a value in which others are wanted, or which is wanted itself.
type node struct {
	slots    []int // of the values that it fills
	keys     map[string]*node
	names    []string // of keys that may be in any case
	elements map[int]*node
	last     int // the highest index of elements

	seen []keyAt
	pass uint64 // in which it was met last
	rank rank   // how well it was named then
}

// keyAt remembers the n-th key of the last object at a node, because messages
// of one topic tend to have the same keys in the same order.
type keyAt struct {
	key  []byte
	node *node // nil for a key that is not wanted
	rank rank
}

const (
	maxSeen = 256  // keys of an object that are remembered
	maxKey  = 1024 // bytes of one
)

// rank says how a key names a value. A higher rank beats a lower one.
type rank uint8

const (
	noName rank = iota
	anyCase
	exactName
)

// addNames wants the values of keys, each for the value at its slot.
func (t *tree) addNames(names []string, slots []int) {
	for i, slot := range slots {
		if slot >= 0 {
			t.child(&t.root, names[i]).slots = []int{slot}
			t.root.names = append(t.root.names, names[i])
		}
	}
}

// addPath wants the value that a path leads to, for the value at slot.
func (t *tree) addPath(path jsonpath.Path, slot int) {
	n := &t.root
	for _, step := range path {
		if step.IsIndex {
			n = n.element(step.Index)
		} else {
			n = t.child(n, step.Key)
		}
	}
	if slot >= 0 {
		n.slots = append(n.slots, slot)
	}
}

func (t *tree) child(n *node, key string) *node {
	const escape = len(`\u0061`) // of a byte
	t.longest = max(t.longest, escape*len(key))
	if n.keys == nil {
		n.keys = map[string]*node{}
	}
	if n.keys[key] == nil {
		n.keys[key] = &node{}
	}
	return n.keys[key]
}

func (n *node) element(index int) *node {
	if n.elements == nil {
		n.elements = map[int]*node{}
	}
	if n.elements[index] == nil {
		n.elements[index] = &node{}
	}
	n.last = max(n.last, index)
	return n.elements[index]
}

// read sets the wanted values of the JSON value at i, and answers where it
// ends and whether any was found. The depth of calls is that of the paths.
func (t *tree) read(s *scanner, i int, values []Value) (end int, found bool) {
	t.pass++
	t.found = false
	end = t.node(s, &t.root, i, values)
	return end, t.found
}

func (t *tree) node(s *scanner, n *node, i int, values []Value) (end int) {
	var v Value
	switch c := s.peek(i); {
	case c == '{' && n.keys != nil:
		end = t.object(s, n, i, values)
		v = Value{Kind: Nested, raw: s.b[i:end]}
	case c == '[' && n.elements != nil:
		end = t.array(s, n, i, values)
		v = Value{Kind: Nested, raw: s.b[i:end]}
	case len(n.slots) == 1: // nearly always
		t.found = true
		return s.value(i, &values[n.slots[0]])
	default:
		end = s.value(i, &v)
	}
	for _, slot := range n.slots {
		values[slot], t.found = v, true
	}
	return end
}

// object reads the object at i.
func (t *tree) object(s *scanner, n *node, i int, values []Value) (end int) {
	if i = s.space(i + 1); s.peek(i) == '}' {
		return i + 1
	}
	for count := 0; ; count++ {
		wanted, rank, at := t.key(s, n, count, i)
		if s.problem != "" {
			return at
		}
		if wanted != nil && (wanted.pass != t.pass || wanted.rank < rank) {
			wanted.pass, wanted.rank = t.pass, rank
			i = t.node(s, wanted, at, values)
		} else {
			i = s.any(at)
		}
		if s.problem != "" {
			return i
		}
		i = s.space(i)
		switch s.peek(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			return i + 1
		default:
			return s.fail(i, "a comma or a closing bracket is missing")
		}
	}
}

// array reads the array at i.
func (t *tree) array(s *scanner, n *node, i int, values []Value) (end int) {
	if i = s.space(i + 1); s.peek(i) == ']' {
		return i + 1
	}
	for index := 0; ; index++ {
		if wanted := n.elementAt(index); wanted != nil {
			i = t.node(s, wanted, i, values)
		} else {
			i = s.any(i)
		}
		if s.problem != "" {
			return i
		}
		i = s.space(i)
		switch s.peek(i) {
		case ',':
			i = s.space(i + 1)
		case ']':
			return i + 1
		default:
			return s.fail(i, "a comma or a closing bracket is missing")
		}
	}
}

func (n *node) elementAt(index int) *node {
	if index > n.last {
		return nil
	}
	return n.elements[index]
}

// key reads the key at i, the count-th of its object, and the colon behind it:
// what it means at n, and where its value begins.
func (t *tree) key(s *scanner, n *node, count, i int) (wanted *node, rank rank, at int) {
	if count < len(n.seen) { // most likely it is the same as in the last object
		last := &n.seen[count]
		end := i + len(last.key) + 2
		if end <= len(s.b) && s.b[i] == '"' && s.b[end-1] == '"' && bytes.Equal(s.b[i+1:end-1], last.key) {
			return last.node, last.rank, s.colon(end)
		}
	}
	raw, escaped, at := s.key(i)
	if s.problem != "" {
		return nil, noName, at
	}
	if len(raw) <= t.longest {
		wanted, rank = t.find(n, raw, escaped)
	}
	switch {
	case len(raw) > maxKey:
	case count < len(n.seen):
		n.seen[count] = keyAt{append(n.seen[count].key[:0], raw...), wanted, rank}
	case count == len(n.seen) && count < maxSeen:
		n.seen = append(n.seen, keyAt{bytes.Clone(raw), wanted, rank})
	}
	return wanted, rank, at
}

func (t *tree) find(n *node, raw []byte, escaped bool) (*node, rank) {
	if escaped {
		plain, ok := unescape(t.scratch[:0], raw)
		if !ok {
			return nil, noName
		}
		t.scratch, raw = plain, plain
	}
	if wanted := n.keys[string(raw)]; wanted != nil {
		return wanted, exactName
	}
	for _, name := range n.names {
		if bytes.EqualFold([]byte(name), raw) {
			return n.keys[name], anyCase
		}
	}
	return nil, noName
}
