package backend

import (
	"strings"
	"testing"
	"time"
)

// A scene is conditions that hold for a while, and who is listed after it.
type scene struct {
	seconds int
	all     []condition
	listed  string // "1 2"
}

func TestBlackList(t *testing.T) {
	set := func(jobs ...uint64) jobSet {
		s := jobSet{}
		for _, id := range jobs {
			s[id] = true
		}
		return s
	}
	idle := func(id uint64) condition { return condition{id: id, ready: true, startedMs: 1} }
	well := func(id uint64, jobs ...uint64) condition { c := idle(id); c.well = set(jobs...); return c }
	fails := func(id uint64, jobs ...uint64) condition {
		c := idle(id)
		c.failing, c.trouble = set(jobs...), "no route"
		return c
	}
	full := func(id uint64) condition { c := idle(id); c.warehouse = "no space"; return c }
	started := func(c condition, ms int64) condition { c.startedMs = ms; return c }
	leaving := func(c condition) condition { c.ready = false; return c }

	for _, tt := range []struct {
		name   string
		scenes []scene
	}{
		{"all well", []scene{{600, []condition{well(1, 7), well(2, 8)}, ""}}},
		{"one refuses writes", []scene{{10, []condition{full(1), well(2, 8)}, ""}, {10, []condition{full(1), well(2, 8)}, "1"}}},
		{"all refuse writes", []scene{{600, []condition{full(1), full(2)}, ""}}},
		{"there is no other", []scene{{600, []condition{full(1)}, ""}}},
		{"the other shuts down", []scene{{600, []condition{full(1), leaving(well(2, 8))}, ""}}},
		{"it comes off when writes go well again", []scene{{20, []condition{full(1), idle(2)}, "1"},
			{25, []condition{idle(1), idle(2)}, "1"}, {10, []condition{idle(1), idle(2)}, ""}}},
		{"and not for a moment in which they do", []scene{{20, []condition{full(1), idle(2)}, "1"},
			{20, []condition{idle(1), idle(2)}, "1"}, {1, []condition{full(1), idle(2)}, "1"}, {20, []condition{idle(1), idle(2)}, "1"}}},
		{"a job fails here, and does well there", []scene{{20, []condition{fails(1, 7), well(2, 7)}, "1"},
			{270, []condition{idle(1), well(2, 7)}, "1"}, {40, []condition{idle(1), well(2, 7)}, ""}}},
		{"a job fails wherever it is", []scene{{600, []condition{fails(1, 7), well(2, 8)}, ""}}},
		{"several jobs fail, and others do well elsewhere", []scene{{20, []condition{fails(1, 6, 7), well(2, 8)}, "1"}}},
		{"all jobs fail", []scene{{600, []condition{fails(1, 6, 7), fails(2, 8)}, ""}}},
		{"one job fails, another does well", []scene{{600, []condition{{id: 1, ready: true, well: set(6), failing: set(7)}, well(2, 7)}, ""}}},
		{"now and then", []scene{{10, []condition{fails(1, 7), well(2, 7)}, ""}, {1, []condition{well(1, 7), well(2, 7)}, ""}, {10, []condition{fails(1, 7), well(2, 7)}, ""}}},
		{"it is started again and again", []scene{{10, []condition{started(idle(1), 1), idle(2)}, ""}, {10, []condition{started(idle(1), 2), idle(2)}, ""},
			{5, []condition{idle(2)}, ""}, {10, []condition{started(idle(1), 3), idle(2)}, ""}, {5, []condition{started(idle(1), 4), idle(2)}, "1"}}},
		{"it is restarted now and then", []scene{{200, []condition{started(idle(1), 1), idle(2)}, ""}, {200, []condition{started(idle(1), 2), idle(2)}, ""},
			{200, []condition{started(idle(1), 3), idle(2)}, ""}, {200, []condition{started(idle(1), 4), idle(2)}, ""}}},
		{"never all", []scene{{20, []condition{full(1), well(2, 8), well(3, 9)}, "1"}, {60, []condition{full(1), full(2), well(3, 9)}, "1 2"},
			{60, []condition{full(1), full(2), full(3)}, "1 2"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, now := make(blackList), time.Unix(1000, 0)
			for i, s := range tt.scenes {
				for range s.seconds {
					now = now.Add(time.Second)
					list.judge(now, s.all)
				}
				var listed []string
				for _, id := range []uint64{1, 2, 3} {
					if list.why(now, id) != "" {
						listed = append(listed, string(rune('0'+id)))
					}
				}
				if got := strings.Join(listed, " "); got != s.listed {
					t.Errorf("scene %d: listed are %q, want %q", i+1, got, s.listed)
				}
			}
		})
	}
}
