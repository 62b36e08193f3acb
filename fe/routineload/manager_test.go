package routineload

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"shoal/fe/backend"
	"shoal/fe/credentials"
	"shoal/fe/errno"
	"shoal/fe/kafka"
	"shoal/fe/lease"
	"shoal/fe/result"
	"shoal/fe/seal"
	"shoal/fe/session"
	"shoal/fe/state"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/parse"
)

var ordersTable = &raftlogv1.Table{Name: "orders", Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{
	{Name: "id", Type: "bigint"}, {Name: "Name", Type: "varchar(20)", Nullable: true},
}}}}

// TestMain has one processor for all: timers of a bubble that fire on two at
// the same instant crash the race detector (golang/go#78156).
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	goleak.VerifyTestMain(m)
}

// node is a backend whose tasks do nothing but run.
type node struct {
	backendv1.UnimplementedBackendServiceServer
	mu   sync.Mutex
	runs map[uint64]*backendv1.TaskStatus // by epoch
}

func (n *node) Heartbeat(_ context.Context, req *backendv1.HeartbeatRequest) (*backendv1.HeartbeatResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	resp := &backendv1.HeartbeatResponse{Slots: 16}
	for _, ref := range req.Tasks {
		if run := n.runs[ref.Epoch]; run != nil {
			resp.Tasks = append(resp.Tasks, run)
		} else {
			resp.Lacking = append(resp.Lacking, ref)
		}
	}
	return resp, nil
}

func (n *node) SubmitTask(_ context.Context, req *backendv1.SubmitTaskRequest) (*backendv1.SubmitTaskResponse, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.runs[req.Task.Epoch] = &backendv1.TaskStatus{
		Task: &backendv1.TaskRef{TaskId: req.Task.TaskId, Epoch: req.Task.Epoch}, JobId: req.Task.JobId, Phase: backendv1.TaskStatus_PHASE_POLLING,
	}
	return &backendv1.SubmitTaskResponse{}, nil
}

// bench is a manager over a real state and an embedded broker, in a bubble.
type bench struct {
	t       *testing.T
	broker  *kfake.Cluster
	network *kfake.VirtualNetwork
	client  *kafka.Client
	manager *Manager
	session *session.Session
	server  *grpc.Server
	cancel  func()
	duties  sync.WaitGroup

	mu    sync.Mutex
	state *state.State
	index uint64
}

func (b *bench) View(read func(*state.State)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	read(b.state)
}

func (b *bench) Propose(_ context.Context, cmd *raftlogv1.Command) (state.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.index++
	return b.state.Apply(b.index, cmd), nil
}

func (b *bench) apply(cmd *raftlogv1.Command) state.Result {
	b.t.Helper()
	result, _ := b.Propose(b.t.Context(), cmd)
	if result.Err != nil {
		b.t.Fatal(result.Err)
	}
	return result
}

// managed runs a test with a manager, whose frontend leads once lead is called,
// a table d.orders and a topic of three partitions.
func managed(t *testing.T, test func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, state: state.New(), network: new(kfake.VirtualNetwork)}
		var err error
		b.broker, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.ListenFn(b.network.Listen), kfake.Ports(9092), kfake.SeedTopics(3, "orders"))
		if err != nil {
			t.Fatal(err)
		}
		b.client, err = kafka.Dial(b.broker.ListenAddrs(), nil, nil, kgo.Dialer(b.network.DialContext))
		if err != nil {
			t.Fatal(err)
		}
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}})
		db := b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "d"}}}).ID
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
			DatabaseId: db, Name: "orders", DuplicateKeys: []string{"id"}, Schemas: ordersTable.Schemas,
		}}}})
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_RegisterBackend{RegisterBackend: &raftlogv1.RegisterBackend{
			Backend: &raftlogv1.Backend{NodeUuid: "1", Host: "127.0.0.1", RpcPort: 1, Slots: 16},
		}}})
		listener := bufconn.Listen(1 << 20)
		b.server = grpc.NewServer()
		backendv1.RegisterBackendServiceServer(b.server, &node{runs: map[uint64]*backendv1.TaskStatus{}})
		go b.server.Serve(listener)
		log := slog.New(slog.DiscardHandler)
		secrets := credentials.New(b, seal.New(t.TempDir()))
		if err := secrets.Unlock(); err != nil {
			t.Fatal(err)
		}
		registry := backend.New(b, secrets.Open, log, func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) },
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		pool := kafka.NewPool(log, secrets.Open, kgo.Dialer(b.network.DialContext))
		b.manager = New(Config{Store: b, Leases: new(lease.Leases), Backends: registry, Kafka: pool, Secrets: secrets, Logger: log})
		b.session = session.New(1, "root", "h", session.NewGlobals(session.DefaultServer()))
		b.session.DB = "d"
		b.cancel = func() {}
		test(t, b)
		b.cancel()
		b.duties.Wait()
		b.server.Stop()
		pool.Close()
		b.client.Close()
		b.broker.Close()
	})
}

// lead begins the leader's duties.
func (b *bench) lead() {
	ctx, cancel := context.WithCancel(b.t.Context())
	b.cancel = cancel
	b.duties.Go(func() { b.manager.cfg.Backends.Run(ctx, &backendv1.Leadership{Incarnation: 1, Term: 1}, "fe:9020") })
	b.duties.Go(func() { b.manager.RunLeader(ctx) })
}

// sql carries out a statement and returns its rows.
func (b *bench) sql(text string) (*result.Table, error) {
	b.t.Helper()
	stmt, err := parse.Parse(text)
	if err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
	ctx := b.t.Context()
	switch stmt := stmt.(type) {
	case *ast.CreateRoutineLoad:
		return nil, b.manager.Create(ctx, b.session, stmt)
	case *ast.AlterRoutineLoad:
		return nil, b.manager.Alter(ctx, b.session, stmt)
	case *ast.PauseRoutineLoad:
		return nil, b.manager.Pause(ctx, b.session, stmt)
	case *ast.ResumeRoutineLoad:
		return nil, b.manager.Resume(ctx, b.session, stmt)
	case *ast.StopRoutineLoad:
		return nil, b.manager.Stop(ctx, b.session, stmt)
	case *ast.ShowRoutineLoad:
		return b.manager.Show(ctx, b.session, stmt)
	case *ast.ShowRoutineLoadTask:
		return b.manager.ShowTasks(ctx, b.session, stmt)
	case *ast.ShowRoutineLoadLedger:
		return b.manager.ShowLedger(ctx, b.session, stmt)
	case *ast.CheckRoutineLoadLedger:
		return b.manager.CheckLedger(ctx, b.session, stmt, func(string) {})
	}
	b.t.Fatalf("no case for %T", stmt)
	return nil, nil
}

func (b *bench) must(text string) *result.Table {
	b.t.Helper()
	table, err := b.sql(text)
	if err != nil {
		b.t.Fatalf("%s: %v", text, err)
	}
	return table
}

// create makes a job, with extra source properties.
func (b *bench) create(name, source string) error {
	b.t.Helper()
	_, err := b.sql(fmt.Sprintf(`CREATE ROUTINE LOAD %s ON orders PROPERTIES("load_mode"="share_group", "format"="json")
		FROM KAFKA("kafka_broker_list"="%s", "kafka_topic"="orders", "property.kafka_default_offsets"="OFFSET_BEGINNING"%s)`,
		name, b.broker.ListenAddrs()[0], source))
	return err
}

// cell is a cell of the one row that a statement gives; NULL is "NULL".
func (b *bench) cell(text, column string) string {
	b.t.Helper()
	table := b.must(text)
	if len(table.Rows) != 1 {
		b.t.Fatalf("%s: %d rows", text, len(table.Rows))
	}
	return at(table, 0, column)
}

func at(table *result.Table, row int, column string) string {
	for i, c := range table.Columns {
		if c.Name == column {
			if table.Rows[row][i] == nil {
				return "NULL"
			}
			return *table.Rows[row][i]
		}
	}
	return "no column " + column
}

func (b *bench) job() *raftlogv1.Job {
	var all []*raftlogv1.Job
	b.View(func(s *state.State) { all = s.Jobs() })
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

func (b *bench) produce(partition int32, n int) {
	b.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.broker.ListenAddrs()...), kgo.Dialer(b.network.DialContext), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		b.t.Fatal(err)
	}
	defer cl.Close()
	for range n {
		if err := cl.ProduceSync(b.t.Context(), &kgo.Record{Topic: "orders", Partition: partition, Value: []byte("{}")}).FirstErr(); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) positions() map[int32]kafka.Position {
	b.t.Helper()
	positions, err := b.client.Positions(b.t.Context(), b.job().Load.GroupId, "orders")
	if err != nil {
		b.t.Fatal(err)
	}
	return positions
}

func TestLifeOfAJob(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.produce(1, 5)
		if err := b.create("j", ""); err != nil {
			t.Fatal(err)
		}
		job := b.job()
		if !job.Started || len(job.Starts) != 3 || job.LockDurationMs != 30_000 || !strings.HasPrefix(job.Load.GroupId, "shoal-c1-") {
			t.Fatalf("job after CREATE: %v", job)
		}
		if p := b.positions(); len(p) != 3 || p[1].Start != 0 || p[1].Lag != 5 {
			t.Errorf("the group is pinned at %v", p)
		}
		if got := b.cell("SHOW ROUTINE LOAD FOR j", "State"); got != "NEED_SCHEDULE" {
			t.Errorf("State = %s before there is a leader", got)
		}

		b.lead()
		time.Sleep(5 * time.Second)
		show := b.must("SHOW ROUTINE LOAD FOR j")
		for column, want := range map[string]string{
			"State": "RUNNING", "CurrentTaskNum": "6", "Lag": `{"0":0,"1":5,"2":0}`, "Progress": `{"0":"OFFSET_ZERO","1":"OFFSET_ZERO","2":"OFFSET_ZERO"}`,
			"PauseTime": "NULL", "ReasonOfStateChanged": "", "DataSourceType": "KAFKA", "User": "root",
		} {
			if got := at(show, 0, column); got != want {
				t.Errorf("%s = %s, want %s", column, got, want)
			}
		}
		if got := at(show, 0, "OtherMsg"); !strings.Contains(got, "with 6 tasks; lag 5.") {
			t.Errorf("OtherMsg = %s", got)
		}
		if tasks := b.must("SHOW ROUTINE LOAD TASK WHERE JobName = 'j'"); len(tasks.Rows) != 6 || !strings.Contains(at(tasks, 0, "DataSourceProperties"), `"phase":"polling"`) {
			t.Errorf("SHOW TASK: %d rows", len(tasks.Rows))
		}
		listed, _ := b.manager.List(t.Context(), false)
		if len(listed) != 1 || listed[0].GetLag() != 5 || listed[0].Tasks != 6 || listed[0].State != "RUNNING" {
			t.Errorf("List = %v", listed)
		}
		if tasks, _ := b.manager.Tasks(t.Context(), job.Id); len(tasks) != 6 || tasks[0].Phase != "polling" || tasks[0].BackendId == 0 {
			t.Errorf("Tasks = %v", tasks)
		}
		b.pauseAndResume(t)

		b.must("STOP ROUTINE LOAD FOR j")
		time.Sleep(2 * upkeepEvery)
		if p := b.positions(); len(p) != 0 {
			t.Errorf("the group of a stopped job is at %v", p)
		}
		if _, err := b.sql("SHOW ROUTINE LOAD FOR j"); err == nil {
			t.Error("a stopped job is shown without ALL")
		}
		if got := b.cell("SHOW ALL ROUTINE LOAD FOR j", "State"); got != "STOPPED" {
			t.Errorf("State = %s", got)
		}
		if err := b.create("j", ""); err != nil {
			t.Errorf("the name is not free again: %v", err)
		}
	})
}

// pauseAndResume settles two offsets in between, so that RESUME pins there,
// while one task's member has not left.
func (b *bench) pauseAndResume(t *testing.T) {
	job := b.job()
	commit := &frontendv1.CommitTxnRequest{
		JobId: job.Id, TaskId: job.Tasks[0].Id, Epoch: job.Tasks[0].Epoch, Number: 1, Digest: []byte("d"), TableId: job.TableId, SchemaVersion: 1, Generation: 1,
		Partitions: []*typesv1.PartitionOffsets{{TopicId: job.Starts[1].TopicId, Partition: 1, Loaded: []*typesv1.EpochRange{{First: 0, Last: 1}, {First: 4, Last: 4}}}},
		Counters:   &typesv1.Counters{TotalRows: 3, LoadedRows: 3},
	}
	answer := b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_CommitTxns{CommitTxns: &raftlogv1.CommitTxns{Txns: []*frontendv1.CommitTxnRequest{commit}}}}).Txns[0]
	if answer.Outcome != frontendv1.Outcome_OUTCOME_COMMITTED {
		t.Fatalf("commit: %v", answer)
	}
	b.join(t, job.Load.GroupId, job.Tasks[2].MemberId)
	b.must("PAUSE ROUTINE LOAD FOR j")
	if got := b.cell("SHOW ROUTINE LOAD FOR j", "ReasonOfStateChanged"); got != "ErrorReason{code=errCode = 100, msg='User root pauses routine load job'}" {
		t.Errorf("ReasonOfStateChanged = %s", got)
	}
	if got, tasks := b.cell("SHOW ROUTINE LOAD FOR j", "CurrentTaskNum"), b.must("SHOW ROUTINE LOAD TASK WHERE JobName = 'j'"); got != "0" || len(tasks.Rows) != 0 {
		t.Errorf("a paused job has %s tasks, %d of them shown", got, len(tasks.Rows))
	}
	if _, err := b.sql("PAUSE ROUTINE LOAD FOR j"); err == nil || !strings.Contains(err.Error(), "Could not transform PAUSED to PAUSED") {
		t.Errorf("paused twice: %v", err)
	}
	b.must("RESUME ROUTINE LOAD FOR j")
	if p := b.positions(); p[1].Start != 2 {
		t.Errorf("RESUME pinned at %v, want the settled offset 2", p[1])
	}
	time.Sleep(3 * time.Second)
	if job := b.job(); job.State != raftlogv1.JobState_JOB_STATE_RUNNING || len(job.Tasks) != 6 {
		t.Errorf("after RESUME: %v with %d tasks", job.State, len(job.Tasks))
	}
	show := b.must("SHOW ROUTINE LOAD LEDGER FOR j")
	for column, want := range map[string]string{
		"Partition": "1", "Start": "0", "Settled": "2", "SPSO": "2", "LogEnd": "5", "InFlight": "2", "Loaded": "3", "Ranges": "1", "SettledAbove": "4", "Repaired": "0",
	} {
		if got := at(show, 1, column); got != want {
			t.Errorf("LEDGER %s = %s, want %s", column, got, want)
		}
	}
}

// join makes a member, as a task does.
func (b *bench) join(t *testing.T, group, member string) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.broker.ListenAddrs()...), kgo.Dialer(b.network.DialContext))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.SubscribedTopicNames = group, member, []string{"orders"}
	resp, err := req.RequestWith(t.Context(), cl)
	if err != nil || resp.ErrorCode != 0 {
		t.Fatalf("joining: %v %v", err, kerr.ErrorForCode(resp.ErrorCode))
	}
}

func TestCreateFails(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		tests := []struct {
			name, text string
			code       errno.Code
			part       string
		}{
			{"name", "CREATE ROUTINE LOAD `1j` ON orders PROPERTIES(\"load_mode\"=\"share_group\") FROM KAFKA(\"kafka_broker_list\"=\"b:1\",\"kafka_topic\"=\"orders\")", errno.WrongRoutineLoadName, "'1j'"},
			{"database", `CREATE ROUTINE LOAD nosuch.j ON orders FROM KAFKA("kafka_topic"="orders")`, errno.UnknownDatabase, "'nosuch'"},
			{"table", `CREATE ROUTINE LOAD j ON nosuch FROM KAFKA("kafka_topic"="orders")`, errno.UnknownTable, "'nosuch'"},
			{"broker", `CREATE ROUTINE LOAD j ON orders PROPERTIES("load_mode"="share_group") FROM KAFKA("kafka_broker_list"="127.0.0.1:9","kafka_topic"="orders")`, errno.Unknown, "127.0.0.1:9"},
			{"topic", `CREATE ROUTINE LOAD j ON orders PROPERTIES("load_mode"="share_group") FROM KAFKA("kafka_broker_list"="` + b.broker.ListenAddrs()[0] + `","kafka_topic"="nosuch")`, errno.Unknown, "topic 'nosuch'"},
		}
		for _, tt := range tests {
			began := time.Now()
			_, err := b.sql(tt.text)
			if e := errno.From(err); err == nil || e.Code != tt.code || !strings.Contains(e.Msg, tt.part) {
				t.Errorf("%s: %v, want %d and %q", tt.name, err, tt.code.Num, tt.part)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%s: the user waited %v", tt.name, took)
			}
		}
		var deleted []string
		b.broker.ControlKey(kmsg.DeleteGroups.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
			deleted = append(deleted, req.(*kmsg.DeleteGroupsRequest).Groups...)
			return nil, nil, false
		})
		b.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.AlterShareGroupOffsets}, Err: kerr.GroupAuthorizationFailed, TopLevel: true})
		if err := b.create("j", ""); err == nil || !strings.Contains(errno.From(err).Msg, "GROUP_AUTHORIZATION_FAILED") {
			t.Errorf("a pin that is refused: %v", err)
		}
		if job := b.job(); job != nil {
			t.Errorf("a job that could not be started is left: %v", job)
		}
		if len(deleted) != 1 || !strings.HasPrefix(deleted[0], "shoal-c1-") {
			t.Errorf("the groups %v are deleted, want the job's with its settings", deleted)
		}
		if err := b.create("j", ""); err != nil {
			t.Fatal(err)
		}
		if err := b.create("j", ""); err == nil || !strings.Contains(errno.From(err).Msg, "Name j already used in db d") {
			t.Errorf("a name twice: %v", err)
		}
	})
}

func TestUsersGroup(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.produce(0, 9)
		if err := b.client.Pin(t.Context(), "mine", "orders", map[int32]int64{0: 4, 1: 0, 2: 0}); err != nil {
			t.Fatal(err)
		}
		create := func(name string) error {
			_, err := b.sql(`CREATE ROUTINE LOAD ` + name + ` ON orders PROPERTIES("load_mode"="share_group") FROM KAFKA("kafka_broker_list"="` +
				b.broker.ListenAddrs()[0] + `", "kafka_topic"="orders", "property.group.id"="mine", "property.client.id"="c")`)
			return err
		}
		if err := create("first"); err != nil {
			t.Fatal(err)
		}
		if job := b.job(); job.Starts[0].Start != 4 || b.positions()[0].Start != 4 {
			t.Errorf("begins at %v, the group at %v; want 4, where the group was", job.Starts[0], b.positions()[0])
		}
		if err := create("second"); err == nil || !strings.Contains(errno.From(err).Msg, "group.id") {
			t.Errorf("two jobs with one group: %v", err)
		}
		b.join(t, "mine", "somebody-else")
		b.must("STOP ROUTINE LOAD FOR first")
		if err := create("third"); err == nil || !strings.Contains(errno.From(err).Msg, "has 1 members already") {
			t.Errorf("a group that another application reads by: %v", err)
		}
	})
}
