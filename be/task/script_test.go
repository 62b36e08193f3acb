package task_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"shoal/be/source"
	"shoal/be/task"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	typesv1 "shoal/proto/types/v1"
)

// TestScripts runs the loop against a source, a pipe and a frontend that do
// what a script says, in virtual time, and prints what the loop does. Files
// named trap_NN are about the traps of share-groups.md, section 8.
//
//	run mode=share lock=30s interval=10s linger=20ms rows=1000 bytes=1000000 partitions=1 until=5s finish=1s
//	fetch 0:1-9 gap=4 epoch=7 size=100 wait=10ms lost=1 unread=9 unproven=8 err=... lock=2s
//	fetch 0:1-9 expired=1-3 more=1 stuck=1:lost           in mode=classic, which has no locks; it stays stuck
//	write 2s | write error ...        the next write's time, or its failure
//	write decoding 2s                 its time, all of which records take
//	write broken 10s ...              its failure, and nothing can be written for a time
//	commit [2s] committed | conflict 0:3-4 | wait | error | ...
//	ack refused 0 | ack retry 0       the next Acknowledge's outcome for a partition
//
// What the script does not say goes well and takes no time.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out string
			synctest.Test(t, func(t *testing.T) { out = play(t, d) })
			return out
		})
	})
}

var topic = source.TopicID{15: 1}

// A world is what surrounds the task of one script.
type world struct {
	t       *testing.T
	start   time.Time
	classic bool
	lock    time.Duration
	parts   int64 // assigned
	fetches []directive
	writes  []directive
	commits []directive
	acks    []directive

	mu     sync.Mutex
	story  strings.Builder
	queued []source.Ack
	stuck  []source.Partition
	broken time.Time // nothing can be written before
	names  map[string]bool
}

// A directive is one line of a script: words, and key=value arguments.
type directive struct {
	words []string
	args  map[string]string
}

func parseDirective(line string) directive {
	d := directive{args: map[string]string{}}
	for _, w := range strings.Fields(line) {
		if k, v, ok := strings.Cut(w, "="); ok {
			d.args[k] = v
		} else {
			d.words = append(d.words, w)
		}
	}
	return d
}

func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(&w.story, "%-8v %s\n", time.Since(w.start), fmt.Sprintf(format, args...))
}

func play(t *testing.T, d *datadriven.TestData) string {
	w := &world{t: t, start: time.Now(), names: map[string]bool{}}
	for line := range strings.Lines(d.Input) {
		dir := parseDirective(line)
		if len(dir.words) == 0 {
			continue
		}
		list := map[string]*[]directive{"fetch": &w.fetches, "write": &w.writes, "commit": &w.commits, "ack": &w.acks}[dir.words[0]]
		if list == nil {
			t.Fatalf("%s: unknown line %q", d.Pos, line)
		}
		dir.words = dir.words[1:]
		*list = append(*list, dir)
	}
	args := map[string]string{"mode": "share", "interval": "10s", "lock": "30s", "linger": "0s", "rows": "1000", "bytes": "1000000", "partitions": "1", "until": "3s"}
	for _, a := range d.CmdArgs {
		args[a.Key] = a.Vals[0]
	}
	w.lock = w.duration(args["lock"])
	w.parts = w.number(args["partitions"])
	mode := typesv1.RoutineLoad_MODE_SHARE_GROUP
	if w.classic = args["mode"] == "classic"; w.classic {
		mode = typesv1.RoutineLoad_MODE_CLASSIC
	}
	var repair []*typesv1.PartitionRanges
	if args["mode"] == "repair" || args["mode"] == "poison" {
		w.classic, repair = true, []*typesv1.PartitionRanges{{TopicId: topic[:], Ranges: []*typesv1.OffsetRange{{First: 5, Last: 5}}}}
	}
	tk := task.New(task.Config{
		Spec: &backendv1.TaskSpec{
			JobId: 1, TaskId: 2, Epoch: 3, Incarnation: 1, Generation: 1, TableId: 4,
			LockDurationMs: w.lock.Milliseconds(), Repair: repair, Poison: args["mode"] == "poison",
			Load: &typesv1.RoutineLoad{
				Mode: mode, MaxBatchRows: w.number(args["rows"]), MaxBatchSize: w.number(args["bytes"]),
				MaxBatchIntervalS: int64(w.duration(args["interval"]).Seconds()), ShareLingerMs: w.duration(args["linger"]).Milliseconds(),
			},
		},
		Source: w, Writer: w, Committer: w, Runtime: task.Real{},
		Logger:       slog.New(slog.DiscardHandler),
		MaxBytes:     1 << 20,
		AppliedIndex: func() uint64 { return 77 },
		Blame:        blame,
		Hooks:        task.Hooks{AfterCommit: func(label string) { w.say("hook after commit of %s", label) }},
	})
	if s := args["finish"]; s != "" {
		told := time.AfterFunc(w.duration(s)+3*time.Millisecond, tk.Finish)
		defer told.Stop()
	}
	// Two timers of one instant fire in any order, so the end is at an odd time.
	ctx, cancel := context.WithTimeout(t.Context(), w.duration(args["until"])+7*time.Millisecond)
	defer cancel()
	err := tk.Run(ctx)
	st := tk.Status()
	w.say("ended: %v; committed %d aborted %d trouble %q", err, st.CommittedTxns, st.AbortedTxns, st.Trouble)
	if len(w.fetches)+len(w.writes)+len(w.commits)+len(w.acks) > 0 {
		t.Errorf("%s: not all of the script happened: %v %v %v %v", d.Pos, w.fetches, w.writes, w.commits, w.acks)
	}
	return w.story.String()
}

// errStuck is what needs a person.
var errStuck = errors.New("position out of range")

func blame(err error) backendv1.TroubleKind {
	if errors.Is(err, errStuck) {
		return backendv1.TroubleKind_TROUBLE_KIND_OUT_OF_RANGE
	}
	return backendv1.TroubleKind_TROUBLE_KIND_BROKER
}

func (w *world) duration(s string) time.Duration {
	v, err := time.ParseDuration(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w *world) number(s string) (n int64) {
	if _, err := fmt.Sscan(s, &n); err != nil {
		w.t.Fatalf("number %q: %v", s, err)
	}
	return n
}

// set reads "0:1-9" or "1-9".
func (w *world) set(s string) (partition int32, set offsets.Set) {
	if p, rest, ok := strings.Cut(s, ":"); ok {
		partition, s = int32(w.number(p)), rest
	}
	for part := range strings.SplitSeq(s, ",") {
		first, last, ok := strings.Cut(part, "-")
		if !ok {
			last = first
		}
		set = append(set, offsets.Range{First: w.number(first), Last: w.number(last)})
	}
	return partition, offsets.Of(set...)
}

func next(list *[]directive) (directive, bool) {
	if len(*list) == 0 {
		return directive{}, false
	}
	d := (*list)[0]
	*list = (*list)[1:]
	return d, true
}

func describe(acks []source.Ack) string {
	names := map[source.AckType]string{source.Gap: "GAP", source.Accept: "ACCEPT", source.Release: "RELEASE", source.Renew: "RENEW"}
	var out []string
	for _, a := range acks {
		out = append(out, fmt.Sprintf("%s %d:%v", names[a.Type], a.Partition, a.Range))
	}
	return strings.Join(out, ", ")
}

func (w *world) Fetch(ctx context.Context, limits source.Limits) (f source.Fetch, err error) {
	if len(w.queued) > 0 {
		w.say("fetch with %s", describe(w.queued))
		w.queued = nil
	}
	defer func() { f.Partitions = append(f.Partitions, w.stuck...) }()
	d, ok := next(&w.fetches)
	if !ok {
		time.Sleep(limits.MaxWait)
		return f, nil
	}
	if s := d.args["wait"]; s != "" {
		if pause := w.duration(s); pause > limits.MaxWait {
			w.fetches = append([]directive{{d.words, d.args}}, w.fetches...)
			d.args["wait"] = (pause - limits.MaxWait).String()
			time.Sleep(limits.MaxWait)
			return f, nil
		}
		time.Sleep(w.duration(s))
	}
	w.say("fetch rows<=%d bytes<=%d wait %v: %s", limits.MaxRecords, limits.MaxBytes, limits.MaxWait, strings.Join(d.words, " "))
	if s := d.args["lock"]; s != "" {
		w.lock = w.duration(s)
	}
	for _, word := range d.words {
		f.Partitions = append(f.Partitions, w.partition(word, d.args))
		if !w.classic {
			f.LockedUntil, f.Lock = time.Now().Add(w.lock), w.lock
		}
	}
	f.More, f.End = d.args["more"] != "", d.args["end"] != ""
	if s := d.args["stuck"]; s != "" {
		id, why, _ := strings.Cut(s, ":")
		w.stuck = append(w.stuck, source.Partition{TopicID: topic, Partition: int32(w.number(id)), Err: fmt.Errorf("%w: %s", errStuck, why)})
	}
	if s := d.args["lost"]; s != "" {
		f.Lost = []source.PartitionID{{TopicID: topic, Partition: int32(w.number(s))}}
	}
	if s := d.args["err"]; s != "" {
		return f, errors.New(s)
	}
	return f, nil
}

func (w *world) partition(word string, args map[string]string) source.Partition {
	id, acquired := w.set(word)
	p := source.Partition{TopicID: topic, Topic: "t", Partition: id, Acquired: acquired, Deliveries: 1}
	if s := args["gap"]; s != "" {
		_, p.Gaps = w.set(s)
		p.Gaps = p.Gaps.Intersect(acquired)
	}
	if s := args["expired"]; s != "" {
		_, p.Expired = w.set(s)
		p.Expired = p.Expired.Intersect(acquired)
	}
	if s := args["unproven"]; s != "" {
		_, p.Unproven = w.set(s)
	}
	if s := args["unread"]; s != "" {
		_, p.Unread = w.set(s)
		p.Err = errors.New("unknown codec")
	}
	size, epoch := int64(10), int64(1)
	if s := args["size"]; s != "" {
		size = w.number(s)
	}
	if s := args["epoch"]; s != "" {
		epoch = w.number(s)
	}
	for _, r := range acquired.Subtract(p.Gaps).Subtract(p.Unproven).Subtract(p.Unread).Subtract(p.Expired) {
		for o := r.First; o <= r.Last; o++ {
			p.Records = append(p.Records, &source.Record{Offset: o, LeaderEpoch: int32(epoch), Value: make([]byte, size)})
		}
	}
	return p
}

func (w *world) Acknowledge(_ context.Context, acks []source.Ack) (results []source.AckResult, lockedUntil time.Time) {
	acks = append(w.queued, acks...)
	w.queued = nil
	line := describe(acks)
	refused := map[int32]source.Outcome{}
	if d, ok := next(&w.acks); ok {
		line += " -> " + strings.Join(d.words, " ")
		refused[int32(w.number(d.words[1]))] = map[string]source.Outcome{
			"refused": source.Refused, "retry": source.Retry, "unknown": source.Unknown}[d.words[0]]
	}
	w.say("%s", line)
	for _, a := range acks {
		results = append(results, source.AckResult{PartitionID: a.PartitionID, Outcome: refused[a.Partition]})
		if a.Type == source.Renew {
			lockedUntil = time.Now().Add(w.lock)
		}
	}
	return results, lockedUntil
}

func (w *world) QueueAcks(acks []source.Ack) { w.queued = append(w.queued, acks...) }

func (w *world) Close(context.Context) []source.AckResult {
	w.say("close with %s", describe(w.queued))
	return nil
}

func (w *world) Assigned() []source.PartitionID {
	ids := make([]source.PartitionID, w.parts)
	for i := range ids {
		ids[i] = source.PartitionID{TopicID: topic, Partition: int32(i)}
	}
	return ids
}

func (w *world) ID() string { return "member" }

func (w *world) Write(ctx context.Context, _ uint64, name string, parts []source.Partition) (task.Written, error) {
	if w.names[name] {
		w.t.Errorf("the pipe was given the name %s twice", name)
	}
	w.names[name] = true
	var what []string
	rows := int64(0)
	for _, p := range parts {
		what = append(what, fmt.Sprintf("%d:%v", p.Partition, p.Acquired.Subtract(p.Gaps).Subtract(p.Unproven).Subtract(p.Expired)))
		for _, offset := range slices.Sorted(maps.Keys(p.Poison)) {
			what = append(what, fmt.Sprintf("(%d is poison: %s)", offset, p.Poison[offset]))
		}
		rows += int64(len(p.Records))
		for i := 1; i < len(p.Records); i++ {
			if p.Records[i-1].Offset >= p.Records[i].Offset {
				w.t.Errorf("records of %s are out of order", name)
			}
		}
	}
	w.say("write %s: %s", name, strings.Join(what, " "))
	d, _ := next(&w.writes)
	if len(d.words) > 2 && d.words[0] == "broken" {
		w.broken = time.Now().Add(w.duration(d.words[1]))
		d.words = append([]string{"error"}, d.words[2:]...)
	}
	if time.Now().Before(w.broken) && len(d.words) == 0 {
		return task.Written{}, errors.New("still broken")
	}
	ended := ctx.Err
	for _, word := range d.words {
		switch word {
		case "error":
			return task.Written{}, errors.New(strings.Join(d.words[1:], " "))
		case "decoding":
			ended = func() error { return fmt.Errorf("%w: %w", source.ErrDecoding, ctx.Err()) }
			continue
		}
		select {
		case <-time.After(w.duration(word)):
		case <-ctx.Done():
			return task.Written{}, ended()
		}
	}
	return task.Written{Rowset: &typesv1.Rowset{Path: name, Rows: rows}, Counters: &typesv1.Counters{TotalRows: rows}}, nil
}

func (w *world) Ready() error {
	if time.Now().Before(w.broken) {
		return errors.New("broken")
	}
	return nil
}

func (w *world) Commit(ctx context.Context, req *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error) {
	var what []string
	for _, p := range req.Partitions {
		for _, r := range p.Loaded {
			what = append(what, fmt.Sprintf("%d:%v@%d", p.Partition, offsets.Range{First: r.First, Last: r.Last}, r.LeaderEpoch))
		}
		for _, r := range p.Void {
			what = append(what, fmt.Sprintf("void %d:%v", p.Partition, offsets.Range{First: r.First, Last: r.Last}))
		}
		for _, r := range p.Expired {
			what = append(what, fmt.Sprintf("expired %d:%v", p.Partition, offsets.Range{First: r.First, Last: r.Last}))
		}
	}
	d, _ := next(&w.commits)
	answer := "committed"
	if len(d.words) > 0 {
		if pause, err := time.ParseDuration(d.words[0]); err == nil {
			d.words = d.words[1:]
			defer func() {
				select {
				case <-time.After(pause):
				case <-ctx.Done():
				}
			}()
		}
	}
	if len(d.words) > 0 {
		answer = d.words[0]
	}
	w.say("commit %d %q %s -> %s", req.Number, req.Rowset.GetPath(), strings.Join(what, " "), answer)
	if answer == "error" {
		return nil, errors.New("connection refused")
	}
	resp := &frontendv1.CommitTxnResponse{Reason: "so said the script"}
	resp.Outcome = frontendv1.Outcome(frontendv1.Outcome_value["OUTCOME_"+strings.ToUpper(answer)])
	if answer == "conflict" {
		for _, word := range d.words[1:] {
			id, set := w.set(word)
			c := &typesv1.PartitionOffsets{TopicId: topic[:], Partition: id}
			for _, r := range set {
				c.Loaded = append(c.Loaded, &typesv1.EpochRange{First: r.First, Last: r.Last})
			}
			resp.Conflicts = append(resp.Conflicts, c)
		}
	}
	return resp, nil
}
