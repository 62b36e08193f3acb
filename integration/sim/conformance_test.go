package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"shoal/be/source"
	"shoal/internal/offsets"
)

// A shareGroup is one partition read by a share group with some members: the
// model, or a real broker through be/share. Scripts are run on both, so that
// the model is what the broker does (share-groups.md, section 1). A script is
// lines of:
//
//	produce 4x2            four batches of two records
//	transaction commit 2   a transaction of two records (or: abort)
//	fetch a 3              member a asks for three records
//	ack a accept 0-3 release 4
//	expire                 the locks run out
//	half                   a bit more than half of a lock's time passes
//	delete 5               the log begins at offset 5 from now on
//	leave a
//	describe               where the group stands, for others
//
// and its output has one line for each that says something.
type shareGroup interface {
	produce(records int)
	transaction(records int, commit bool)
	fetch(member string, most int) source.Fetch
	acknowledge(member string, acks []source.Ack) source.Outcome
	pass(time.Duration)
	deleteBelow(offset int64)
	leave(member string)
	describe() (start, lag int64)
}

// script is a group's settings and its members.
type script struct {
	settings
	members []string
}

func parseScript(t *testing.T, d *datadriven.TestData) script {
	s := script{settings: settings{lock: 15 * time.Second, limit: 5, window: 200}}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "members":
			s.members = a.Vals
		case "limit":
			s.limit = int16(number(t, a.Vals[0]))
		case "window":
			s.window = int64(number(t, a.Vals[0]))
		case "lock":
			s.lock = time.Duration(number(t, a.Vals[0])) * time.Second
		default:
			t.Fatalf("%s: unknown argument %s", d.Pos, a.Key)
		}
	}
	return s
}

func number(t *testing.T, word string) int {
	n, err := strconv.ParseInt(word, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// perform plays the lines of a script on g.
func perform(t *testing.T, d *datadriven.TestData, s script, g shareGroup) string {
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		switch words[0] {
		case "produce":
			batches, size, _ := strings.Cut(words[1], "x")
			for range number(t, batches) {
				g.produce(number(t, size))
			}
		case "transaction":
			g.transaction(number(t, words[2]), words[1] == "commit")
		case "fetch":
			fmt.Fprintf(&out, "%s has %s\n", words[1], brought(g.fetch(words[1], number(t, words[2]))))
		case "ack":
			acks := parseAcks(t, words[2:])
			fmt.Fprintf(&out, "%s %s: %s\n", words[1], strings.Join(words[2:], " "), g.acknowledge(words[1], acks))
		case "expire":
			g.pass(s.lock + s.lock/4)
		case "half":
			g.pass(s.lock * 6 / 10)
		case "delete":
			g.deleteBelow(int64(number(t, words[1])))
		case "leave":
			g.leave(words[1])
		case "describe":
			start, lag := g.describe()
			fmt.Fprintf(&out, "start %d lag %d\n", start, lag)
		default:
			t.Fatalf("%s: unknown line %q", d.Pos, line)
		}
	}
	return out.String()
}

// brought is what a fetch brought, in words.
func brought(f source.Fetch) string {
	if f.Empty() {
		return "nothing"
	}
	p := f.Partitions[0]
	out := fmt.Sprintf("%v (delivery %d)", p.Acquired, p.Deliveries)
	if len(p.Gaps) > 0 {
		out += fmt.Sprintf(" with gaps %v", p.Gaps)
	}
	return out
}

func parseAcks(t *testing.T, words []string) []source.Ack {
	verbs := map[string]source.AckType{"gap": source.Gap, "accept": source.Accept, "release": source.Release, "renew": source.Renew}
	var acks []source.Ack
	for pair := range slices.Chunk(words, 2) {
		verb, ok := verbs[pair[0]]
		var r offsets.Range
		first, last, ranged := strings.Cut(pair[1], "-")
		if !ranged {
			last = first
		}
		_, err := fmt.Sscan(first+" "+last, &r.First, &r.Last)
		if !ok || err != nil {
			t.Fatalf("acknowledgement %q", pair)
		}
		acks = append(acks, source.Ack{Range: r, Type: verb})
	}
	return acks
}

// TestModelConforms plays the scripts on the model.
func TestModelConforms(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s := parseScript(t, d)
			m := &modelGroup{w: newWorld(0, false)}
			m.b = newBroker(m.w, 1, s.settings, &stats{})
			return perform(t, d, s, m)
		})
	})
}

// modelGroup is the model.
type modelGroup struct {
	w *World
	b *broker
}

func (m *modelGroup) produce(n int) { m.b.parts[0].log.append(n, plain) }

func (m *modelGroup) transaction(n int, commit bool) {
	m.b.parts[0].log.append(n, open)
	m.b.parts[0].log.decide(commit)
}

func (m *modelGroup) fetch(member string, most int) source.Fetch {
	m.b.tick()
	p := m.b.fetch(member, 0, most)
	if len(p.Acquired) == 0 {
		p = m.b.fetch(member, 0, most)
	}
	return source.Fetch{Partitions: []source.Partition{p}}
}

func (m *modelGroup) acknowledge(member string, acks []source.Ack) source.Outcome {
	m.b.tick()
	var of []ack
	for _, a := range acks {
		of = append(of, ack{a.Range, verb(a.Type)})
	}
	if !m.b.parts[0].share.acknowledge(member, of, m.w.now) {
		return source.Refused
	}
	return source.Applied
}

func (m *modelGroup) pass(d time.Duration) { m.w.now = m.w.now.Add(d) }

func (m *modelGroup) deleteBelow(offset int64) { m.b.parts[0].log.start = offset }

func (m *modelGroup) leave(member string) { m.b.leave(member) }

func (m *modelGroup) describe() (start, lag int64) {
	m.b.tick()
	s := m.b.parts[0].share
	return s.described, s.lag()
}
