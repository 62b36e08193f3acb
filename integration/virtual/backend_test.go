package virtual

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"shoal/be/classic"
	"shoal/be/executor"
	"shoal/be/feclient"
	"shoal/be/probe"
	"shoal/be/rpc"
	"shoal/be/share"
	"shoal/be/source"
	"shoal/be/task"
	"shoal/internal/nodetls"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	typesv1 "shoal/proto/types/v1"
)

// A backend is what be/server puts together, without listeners on TCP.
type backend struct {
	w       *world
	host    host
	id      uint64
	fe      *feclient.Client
	exec    *executor.Executor
	server  *grpc.Server
	applied atomic.Uint64
	cancel  context.CancelFunc
	running sync.WaitGroup
	polls   polls
	trouble atomic.Pointer[string] // why its warehouse refuses writes, as it says
}

// setTrouble has the backend say that its warehouse refuses writes; "" that it
// does not.
func (b *backend) setTrouble(why string) { b.trouble.Store(&why) }

// polls are the fetches of a backend's tasks.
type polls struct {
	mu   sync.Mutex
	done []poll
}

// A poll is a fetch of a task, and when it was over.
type poll struct {
	taskID, epoch uint64
	at            time.Time
}

func (p *polls) add(one poll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, one)
}

// last is when the last one was over.
func (p *polls) last() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done[len(p.done)-1].at
}

// since is which tasks polled after a time, and their lowest epochs.
func (p *polls) since(after time.Time) map[uint64]uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	epochs := map[uint64]uint64{}
	for _, one := range p.done {
		if lowest := epochs[one.taskID]; one.at.After(after) && (lowest == 0 || one.epoch < lowest) {
			epochs[one.taskID] = one.epoch
		}
	}
	return epochs
}

// A watchedSource notes fetches.
type watchedSource struct {
	task.Source
	spec  *backendv1.TaskSpec
	polls *polls
}

// Fetch implements task.Source.
func (s watchedSource) Fetch(ctx context.Context, limits source.Limits) (source.Fetch, error) {
	f, err := s.Source.Fetch(ctx, limits)
	s.polls.add(poll{s.spec.TaskId, s.spec.Epoch, time.Now()})
	return f, err
}

// startBackend joins the cluster as the n-th backend, in a process of its own.
func (w *world) startBackend(n int) *backend {
	w.t.Helper()
	w.started++
	b := &backend{w: w, host: w.network.host(fmt.Sprintf("backend%d.%d", n, w.started)), server: grpc.NewServer()}
	b.setTrouble("")
	var err error
	if b.fe, err = feclient.New([]string{frontendRPC}, nil, nodetls.Token{}, grpc.WithContextDialer(b.host.grpc)); err != nil {
		w.t.Fatal(err)
	}
	port := 9060 + n
	joined, err := b.fe.Register(w.t.Context(), &frontendv1.RegisterBackendRequest{
		NodeUuid: fmt.Sprint("backend", n), Host: "127.0.0.1", RpcPort: uint32(port), Slots: slots,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	b.id = joined.BackendId
	b.exec = executor.New(context.Background(), executor.Config{Slots: slots, Start: b.start, Logger: w.log.With("backend", n)})
	var service rpc.Server
	service.Attach(&rpc.Backend{
		ID: b.id, ClusterID: joined.ClusterId, Tasks: b.exec, Probes: b, Learn: b.learn, WarehouseError: func() string { return *b.trouble.Load() },
	})
	service.Register(b.server)
	var ctx context.Context
	ctx, b.cancel = context.WithCancel(context.Background())
	lis := w.listen(b.host, fmt.Sprint("127.0.0.1:", port))
	b.running.Go(func() { b.server.Serve(lis) })
	b.running.Go(func() { b.exec.Watch(ctx) })
	return b
}

func (b *backend) learn(req *backendv1.HeartbeatRequest) {
	b.fe.Learn(req.FrontendRpcAddr, req.Frontends)
	b.applied.Store(req.AppliedIndex)
}

// stop drains the backend.
func (b *backend) stop() {
	b.cancel()
	if err := b.exec.Drain(context.Background()); err != nil {
		b.w.t.Error(err)
	}
	b.server.Stop()
	b.running.Wait()
	b.fe.Close()
}

// kill ends the n-th backend as kill -9 does: whoever it talks to sees its
// connections end, and what it does from then on reaches nobody.
func (w *world) kill(n int) {
	b := w.backends[n]
	w.backends[n] = nil
	for _, peer := range []string{frontendHost, brokerHost} {
		w.network.cut(b.host.name, peer)
		w.network.reset(b.host.name, peer)
	}
	b.server.Stop()
	w.background.Go(b.stop)
}

// start makes a task of its spec.
func (b *backend) start(spec *backendv1.TaskSpec) (executor.Task, error) {
	options := append(share.ClientOptions(), kgo.SeedBrokers(spec.Load.Brokers...), kgo.Dialer(b.host.dial),
		kgo.ClientID(fmt.Sprintf("%s-%d-%d", b.host.name, spec.TaskId, spec.Epoch)))
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	writer, closeWriter, err := b.w.warehouse.open(spec)
	if err != nil {
		client.Close()
		return nil, err
	}
	source, beat := b.source(spec, client)
	return &loading{
		Task: task.New(task.Config{
			Spec: spec, Source: watchedSource{source, spec, &b.polls}, Writer: faultyWriter{b, writer}, Committer: faultyCommitter{b}, Runtime: task.Real{}, Logger: b.w.log.With("backend", b.host.name),
			MaxBytes: 16 << 20, AppliedIndex: b.applied.Load, Blame: blame, Hooks: task.Hooks{AfterCommit: func(string) { b.w.faults.committed(b) }},
		}),
		client: client, beat: beat, closeWriter: closeWriter,
	}, nil
}

// source is where a task reads from, and what keeps it going meanwhile.
func (b *backend) source(spec *backendv1.TaskSpec, client *kgo.Client) (task.Source, func(context.Context) error) {
	repairs := len(spec.Repair) > 0
	if spec.Load.Mode == typesv1.RoutineLoad_MODE_SHARE_GROUP && !repairs {
		member := share.New(share.Config{Client: client, Group: spec.Load.GroupId, Topic: spec.Load.Topic, MemberID: spec.MemberId, Logger: b.w.log})
		return member, member.Run
	}
	var starts []classic.Start
	for _, p := range spec.Partitions {
		id := source.PartitionID{TopicID: source.TopicID(p.TopicId), Partition: p.Partition}
		starts = append(starts, classic.Start{PartitionID: id, Offset: p.Offset})
	}
	for _, p := range spec.Repair {
		id := source.PartitionID{TopicID: source.TopicID(p.TopicId), Partition: p.Partition}
		only := make([]offsets.Range, len(p.Ranges))
		for i, r := range p.Ranges {
			only[i] = offsets.Range{First: r.First, Last: r.Last}
		}
		starts = append(starts, classic.Start{PartitionID: id, Bounded: true, Only: offsets.Of(only...)})
	}
	reader := classic.New(classic.Config{Client: client, Topic: spec.Load.Topic, Starts: starts, SkipExpired: spec.Load.SkipExpired || repairs, Logger: b.w.log})
	return reader, func(context.Context) error { return nil }
}

func blame(err error) backendv1.TroubleKind {
	outOfRange, unreadable := (*classic.OutOfRangeError)(nil), (*classic.UnreadableError)(nil)
	switch {
	case errors.Is(err, share.ErrNotAssigned):
		return backendv1.TroubleKind_TROUBLE_KIND_UNSPECIFIED
	case errors.As(err, &outOfRange):
		return backendv1.TroubleKind_TROUBLE_KIND_OUT_OF_RANGE
	case errors.As(err, &unreadable):
		return backendv1.TroubleKind_TROUBLE_KIND_UNREADABLE
	}
	return backendv1.TroubleKind_TROUBLE_KIND_BROKER
}

// A loading is a task with what it reads and writes by.
type loading struct {
	*task.Task
	client      *kgo.Client
	beat        func(context.Context) error
	closeWriter func() error
}

// Run implements executor.Task.
func (l *loading) Run(ctx context.Context) error {
	defer l.client.Close()
	var g errgroup.Group
	g.Go(func() error { return l.beat(context.WithoutCancel(ctx)) })
	err := l.Task.Run(ctx)
	return errors.Join(err, g.Wait(), l.closeWriter())
}

// Probe implements rpc.Prober.
func (b *backend) Probe(ctx context.Context, req *backendv1.ProbeRequest) (*backendv1.ProbeResponse, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(req.Brokers...), kgo.Dialer(b.host.dial))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	q := probe.Request{Topic: req.Topic, TopicID: source.TopicID(req.TopicId), Partition: req.Partition}
	for _, r := range req.Ranges {
		q.Offsets = q.Offsets.Union(offsets.Of(offsets.Range{First: r.First, Last: r.Last}))
	}
	res, err := probe.Run(ctx, client, q)
	if err != nil {
		return nil, err
	}
	return &backendv1.ProbeResponse{Void: ranges(res.Void), Expired: ranges(res.Expired), Held: ranges(res.Held),
		LogStart: res.LogStart, LastStableOffset: res.LastStable}, nil
}

func ranges(set offsets.Set) []*typesv1.OffsetRange {
	out := make([]*typesv1.OffsetRange, len(set))
	for i, r := range set {
		out[i] = &typesv1.OffsetRange{First: r.First, Last: r.Last}
	}
	return out
}
