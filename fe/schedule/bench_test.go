package schedule_test

import (
	"testing"

	"shoal/fe/schedule"
)

// BenchmarkIdle is a leader's round over 2,000 idle jobs, one per second.
func BenchmarkIdle(b *testing.B) {
	f := newFleet(b, 1000, 1, 2, 3)
	for range 2000 {
		f.create(share, 2, 1)
	}
	f.run(120)
	in := schedule.Input{NowMs: f.nowMs, Backends: live(1000, 1, 2, 3)}
	for _, l := range f.loads {
		in.Jobs = append(in.Jobs, schedule.Job{Job: f.state.ByID(l.id), Partitions: upTo(1), MaxMembers: 200})
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range in.Jobs {
			f.pacer.Pace(f.nowMs, &in.Jobs[i], schedule.Work{Joined: 1})
		}
		if plan := schedule.Make(in); len(plan.Commands) > 0 {
			b.Fatal(plan.Commands)
		}
	}
}
