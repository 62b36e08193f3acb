package sim

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"shoal/fe/schedule"
	"shoal/fe/state"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// commitTimeout is how long a backend waits for the answer of a CommitTxn.
const commitTimeout = 5 * time.Second

// deadAfter is fe/backend's: how long a backend may be silent before its tasks
// move.
const deadAfter = 5 * time.Second

// A frontend is the leading frontend's process and what survives it: the log
// and the last snapshot.
type frontend struct {
	s     *Sim
	log   [][]byte // entry i has index i+1
	saved []byte   // snapshot
	state *state.State
	extra []*raftlogv1.TableRowset // visible by a mutation only

	term  uint64
	jobID uint64

	// Of the process that runs now; nil while none does.
	proc   *process
	inbox  []*call
	health map[uint64]*health
	ran    map[schedule.Ref]bool // this leader has seen it, or started it
	ended  map[schedule.Ref]bool
	began  time.Time
	off    bool // tasks are not to be placed now
}

// A call is a CommitTxn that waits for the log.
type call struct {
	req    *frontendv1.CommitTxnRequest
	answer *frontendv1.CommitTxnResponse
	done   chan struct{}
}

// health is what heartbeats told of a backend.
type health struct {
	heard time.Time
	tasks []*backendv1.TaskStatus
}

// newFrontend is a cluster with a table and a started job.
func newFrontend(s *Sim) *frontend {
	f := &frontend{s: s, state: state.New()}
	must := func(c *raftlogv1.Command) uint64 {
		r := f.propose(c)
		if r.Err != nil {
			panic(fmt.Sprintf("sim: set-up refused: %v", r.Err))
		}
		return r.ID
	}
	must(&raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "sim", Warehouse: "file:///sim"}}})
	db := must(&raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "db"}}})
	table := must(&raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
		DatabaseId: db, Name: "t", DuplicateKeys: []string{"id"},
		Schemas: []*typesv1.Schema{{Version: 1, Columns: []*typesv1.Column{{Name: "id", Type: "int", Key: true}}}},
	}}}})
	mode, lock := typesv1.RoutineLoad_MODE_SHARE_GROUP, s.cfg.Lock.Milliseconds()
	if s.cfg.Classic {
		mode, lock = typesv1.RoutineLoad_MODE_CLASSIC, 0
	}
	var starts []*raftlogv1.LedgerStart
	for p := range s.broker.parts {
		starts = append(starts, &raftlogv1.LedgerStart{TopicId: topicID[:], Partition: int32(p)})
	}
	f.jobID = must(&raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{
		GroupPrefix: "shoal-sim-",
		Job: &raftlogv1.Job{DatabaseId: db, Name: "job", TableId: table, Starts: starts, Load: &typesv1.RoutineLoad{
			Mode: mode, SkipExpired: true, DesiredConcurrentNumber: s.cfg.Tasks,
			MaxErrorNumber: 1 << 40, MaxFilterRatio: 1,
			MaxBatchRows: s.cfg.BatchRows, MaxBatchSize: 1 << 20, MaxBatchIntervalS: 10,
			ShareLingerMs: s.cfg.Linger.Milliseconds(), Topic: "t",
		}},
	}}})
	must(&raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: &raftlogv1.StartRoutineLoad{
		JobId: f.jobID, Starts: starts, LockDurationMs: lock,
	}}})
	return f
}

// propose appends a command to the log and applies it: one step.
func (f *frontend) propose(c *raftlogv1.Command) state.Result {
	c.AtMs = f.s.w.now.UnixMilli()
	entry, err := proto.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("sim: marshal %T: %v", c.Body, err))
	}
	f.log = append(f.log, entry)
	r := f.apply(f.state, len(f.log))
	f.s.check.applied()
	return r
}

// apply gives entry index of the log to st.
func (f *frontend) apply(st *state.State, index int) state.Result {
	var c raftlogv1.Command
	if err := proto.Unmarshal(f.log[index-1], &c); err != nil {
		panic(fmt.Sprintf("sim: entry %d: %v", index, err))
	}
	return f.s.cfg.Mutation.apply(f, st, uint64(index), &c)
}

// start begins a process, which restores what the last one had.
func (f *frontend) start() {
	if f.saved != nil {
		f.restore()
	}
	f.term++
	f.proc = &process{name: "fe"}
	f.inbox, f.health = nil, map[uint64]*health{}
	f.ran, f.ended = map[schedule.Ref]bool{}, map[schedule.Ref]bool{}
	f.began, f.off = f.s.w.now, false
	for _, b := range f.s.backends {
		f.s.w.spawn(f.proc, func() { f.beat(b) })
	}
	f.s.w.spawn(f.proc, f.schedule)
	f.s.w.spawn(f.proc, f.audit)
	f.s.w.tell("frontend leads with term %d", f.term)
}

func (f *frontend) restore() {
	st, err := state.ReadSnapshot(bytes.NewReader(f.s.cfg.Mutation.snapshot(f.saved)))
	if err != nil {
		panic(fmt.Sprintf("sim: snapshot: %v", err))
	}
	for index := int(st.Applied()) + 1; index <= len(f.log); index++ {
		f.apply(st, index)
	}
	if f.s.cfg.Mutation == None && !bytes.Equal(dump(st), dump(f.state)) {
		f.s.check.fail("F1: snapshot and log restore another state")
	}
	f.state = st
}

func dump(st *state.State) []byte {
	var b bytes.Buffer
	if err := st.WriteSnapshot(&b); err != nil {
		panic(fmt.Sprintf("sim: write snapshot: %v", err))
	}
	return b.Bytes()
}

// save takes a snapshot.
func (f *frontend) save() { f.saved = dump(f.state.Clone()) }

// kill ends the process.
func (f *frontend) kill() {
	if f.saved == nil {
		f.save()
	}
	f.proc.dead = true
	f.proc = nil
}

// job is the one job, as it is now.
func (f *frontend) job() *raftlogv1.Job { return f.state.JobByID(f.jobID) }

// rowsets is what a query sees.
func (f *frontend) rowsets() []*raftlogv1.TableRowset {
	return slices.Concat(f.state.Rowsets(f.job().TableId), f.extra)
}

// register is FrontendService.RegisterBackend.
func (f *frontend) register(b *backend) (uint64, error) {
	f.s.w.sleep(f.s.hop())
	if f.proc == nil || f.s.fate() != delivered {
		return 0, errDown
	}
	r := f.propose(&raftlogv1.Command{Body: &raftlogv1.Command_RegisterBackend{RegisterBackend: &raftlogv1.RegisterBackend{
		Backend: &raftlogv1.Backend{NodeUuid: b.uuid, Host: b.name, RpcPort: 9060, HttpPort: 8040, Slots: uint32(f.s.cfg.Slots)},
	}}})
	return r.ID, r.Err
}

// submit puts a CommitTxn before the log; several may share an entry.
func (f *frontend) submit(req *frontendv1.CommitTxnRequest) *call {
	c := &call{req: req, done: make(chan struct{})}
	f.inbox = append(f.inbox, c)
	if len(f.inbox) == 1 {
		f.s.w.spawn(f.proc, f.flush)
	}
	return c
}

// flush is one group commit. A process that dies in it may have written the
// entry and answered nobody.
func (f *frontend) flush() {
	f.s.w.sleep(f.s.w.between(0, 20*time.Millisecond))
	calls := f.inbox
	f.inbox = nil
	entry := &raftlogv1.CommitTxns{}
	for _, c := range calls {
		entry.Txns = append(entry.Txns, c.req)
	}
	r := f.propose(&raftlogv1.Command{Body: &raftlogv1.Command_CommitTxns{CommitTxns: entry}})
	for i, c := range calls {
		c.answer = r.Txns[i]
		f.s.check.answered(c.req, c.answer)
	}
	f.s.w.sleep(f.s.hop())
	for _, c := range calls {
		close(c.done)
	}
}

// A committer is a task's way to the frontend.
type committer struct{ s *Sim }

// Commit sends a CommitTxn over a network that loses, delays and repeats.
func (c *committer) Commit(ctx context.Context, req *frontendv1.CommitTxnRequest) (*frontendv1.CommitTxnResponse, error) {
	w, f := c.s.w, c.s.fe
	w.sleep(c.s.hop())
	fate := c.s.fate()
	if fate == late || fate == repeated {
		// A message on its way outlives both ends.
		w.spawn(&process{name: "network"}, func() {
			w.sleep(w.between(0, 90*time.Second))
			if f.proc != nil {
				w.tell("late %s arrives", req.Label)
				f.submit(req)
			}
		})
	}
	if fate == lostRequest || fate == late {
		w.Wait(ctx, nil, w.now.Add(commitTimeout))
		return nil, errTimeout
	}
	if f.proc == nil {
		return nil, errDown
	}
	pending := f.submit(c.s.cfg.Mutation.request(req))
	if !w.Wait(ctx, pending.done, w.now.Add(commitTimeout)) || fate == lostAnswer {
		return nil, errTimeout
	}
	return c.s.cfg.Mutation.answer(pending.answer), nil
}
