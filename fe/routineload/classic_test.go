package routineload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"shoal/fe/kafka"
	"shoal/fe/state"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// admin does something to the broker as its administrator.
func (b *bench) admin(do func(ctx context.Context, adm *kadm.Client) error) {
	b.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.broker.ListenAddrs()...), kgo.Dialer(b.network.DialContext))
	if err != nil {
		b.t.Fatal(err)
	}
	defer cl.Close()
	if err := do(b.t.Context(), kadm.NewClient(cl)); err != nil {
		b.t.Fatal(err)
	}
}

// createClassic makes a classic job; load is COLUMNS and the like, or empty.
func (b *bench) createClassic(name, load, source string) {
	b.t.Helper()
	b.must(fmt.Sprintf(`CREATE ROUTINE LOAD %s ON orders %s PROPERTIES("format"="json")
		FROM KAFKA("kafka_broker_list"="%s", "kafka_topic"="orders"%s)`, name, load, b.broker.ListenAddrs()[0], source))
}

// readers is what the job's tasks read, by age.
func (b *bench) readers() string {
	var out []string
	for _, task := range b.job().Tasks {
		out = append(out, fmt.Sprint(task.Partitions))
	}
	return strings.Join(out, " ")
}

// ledgers are the job's of the topic id, "partition@start" each.
func (b *bench) ledgers() (out []string) {
	id := b.job().Id
	var views []ledger.View
	b.View(func(s *state.State) { views = s.Ledgers(id) })
	for _, v := range views {
		out = append(out, fmt.Sprintf("%d@%d", v.Partition, v.Start))
	}
	return out
}

// TestClassicJobFollowsItsTopic: tasks for partitions, from the end of the log
// as Doris does; partitions that appear, and a topic that is created again, are
// read from their beginning.
func TestClassicJobFollowsItsTopic(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.produce(1, 5)
		b.createClassic("j", "", "")
		job := b.job()
		if job.LockDurationMs != 0 || !job.Started || job.Load.Mode != typesv1.RoutineLoad_MODE_CLASSIC {
			t.Fatalf("job after CREATE: %v", job)
		}
		if p := b.positions(); len(p) != 0 {
			t.Errorf("a classic job has a share group, which is at %v", p)
		}
		b.lead()
		time.Sleep(5*time.Second + planEvery/2)
		if got := b.readers(); got != "[0] [1] [2]" {
			t.Errorf("tasks read %s", got)
		}
		for column, want := range map[string]string{"State": "RUNNING", "CurrentTaskNum": "3", "Lag": `{"0":0,"1":0,"2":0}`, "Progress": `{"0":"OFFSET_ZERO","1":"4","2":"OFFSET_ZERO"}`} {
			if got := b.cell("SHOW ROUTINE LOAD FOR j", column); got != want {
				t.Errorf("%s = %s, want %s", column, got, want)
			}
		}
		b.produce(1, 3)
		b.admin(func(ctx context.Context, adm *kadm.Client) error {
			_, err := adm.CreatePartitions(ctx, 2, "orders")
			return err
		})
		time.Sleep(3 * time.Second)
		if got := b.readers(); got != "[0] [1] [2] [3] [4]" {
			t.Errorf("after the topic grew tasks read %s", got)
		}
		if got, want := b.ledgers(), []string{"0@0", "1@5", "2@0", "3@0", "4@0"}; !slices.Equal(got, want) {
			t.Errorf("ledgers %v, want %v", got, want)
		}
		if got := b.cell("SHOW ROUTINE LOAD FOR j", "Lag"); got != `{"0":0,"1":3,"2":0,"3":0,"4":0}` {
			t.Errorf("Lag = %s", got)
		}
		b.createTopicAgain(t)
	})
}

// createTopicAgain deletes the topic, and creates it with one partition.
func (b *bench) createTopicAgain(t *testing.T) {
	before := b.job()
	b.admin(func(ctx context.Context, adm *kadm.Client) error {
		_, err := adm.DeleteTopics(ctx, "orders")
		return err
	})
	time.Sleep(3 * time.Second)
	if job := b.job(); job.State != raftlogv1.JobState_JOB_STATE_RUNNING || job.Tasks[0] != before.Tasks[0] {
		t.Errorf("without its topic the job is %v, its first task %v", job.State, job.Tasks[0])
	}
	if got := b.cell("SHOW ROUTINE LOAD FOR j", "OtherMsg"); !strings.Contains(got, "Topic 'orders' is gone since") {
		t.Errorf("OtherMsg = %s", got)
	}
	b.admin(func(ctx context.Context, adm *kadm.Client) error {
		_, err := adm.CreateTopic(ctx, 1, 1, nil, "orders")
		return err
	})
	b.produce(0, 2)
	time.Sleep(5 * time.Second)
	job := b.job()
	if got := b.readers(); got != "[0]" || job.Tasks[0].Epoch == before.Tasks[0].Epoch || string(job.Tasks[0].TopicId) == string(before.Tasks[0].TopicId) {
		t.Errorf("of the new topic tasks read %s: %v", got, job.Tasks)
	}
	if got := b.cell("SHOW ROUTINE LOAD FOR j", "Lag"); got != `{"0":2}` {
		t.Errorf("Lag = %s", got)
	}
	if got := b.cell("SHOW ROUTINE LOAD FOR j", "OtherMsg"); !strings.Contains(got, "The topic was created again") {
		t.Errorf("OtherMsg = %s", got)
	}
}

// TestPinnedPartitions: what kafka_partitions leaves out is not read, now or
// later.
func TestPinnedPartitions(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.produce(1, 5)
		b.createClassic("j", "", `, "kafka_partitions"="1,2", "kafka_offsets"="3,OFFSET_BEGINNING"`)
		b.lead()
		b.admin(func(ctx context.Context, adm *kadm.Client) error {
			_, err := adm.CreatePartitions(ctx, 1, "orders")
			return err
		})
		time.Sleep(5 * time.Second)
		if got := b.readers(); got != "[1] [2]" {
			t.Errorf("tasks read %s", got)
		}
		if got, want := b.ledgers(), []string{"1@3", "2@0"}; !slices.Equal(got, want) {
			t.Errorf("ledgers %v, want %v", got, want)
		}
		if got := b.cell("SHOW ROUTINE LOAD FOR j", "Lag"); got != `{"1":2,"2":0}` {
			t.Errorf("Lag = %s", got)
		}
		if got := at(b.must("SHOW ROUTINE LOAD LEDGER FOR j"), 0, "SPSO"); got != "NULL" {
			t.Errorf("SPSO = %s, but the job has no share group", got)
		}
	})
}

// TestUnfitJob: a column that COLUMNS names is dropped; the job pauses, says
// so, and goes on by itself once the column is back.
func TestUnfitJob(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.createClassic("j", "COLUMNS(id, raw, Name = upper(raw))", "")
		b.lead()
		time.Sleep(5*time.Second + planEvery/2)
		before := b.job()
		columns := func(more ...*typesv1.Column) {
			var table *raftlogv1.Table
			b.View(func(s *state.State) { table = s.TableByID(before.TableId) })
			newest := table.Schemas[len(table.Schemas)-1]
			b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_AlterTable{AlterTable: &raftlogv1.AlterTable{
				TableId: table.Id, FromVersion: newest.Version, Columns: append([]*typesv1.Column{newest.Columns[0]}, more...)}}})
		}
		columns()
		time.Sleep(2 * planEvery)
		job := b.job()
		if job.State != raftlogv1.JobState_JOB_STATE_PAUSED || job.ReasonCode != 103 || !strings.Contains(job.Reason, "does not fit table d.orders any more: ") || !strings.Contains(job.Reason, "Name") {
			t.Fatalf("the job is %v, code %d, reason %q", job.State, job.ReasonCode, job.Reason)
		}
		time.Sleep(5 * time.Minute)
		if job := b.job(); job.State != raftlogv1.JobState_JOB_STATE_PAUSED || job.AutoResumes != 0 {
			t.Errorf("without the column the job is %v after %d resumptions", job.State, job.AutoResumes)
		}
		columns(&typesv1.Column{Name: "Name", Type: "varchar(20)", Nullable: true})
		time.Sleep(upkeepEvery + 3*planEvery)
		job = b.job()
		if job.State != raftlogv1.JobState_JOB_STATE_RUNNING || job.AutoResumes != 1 || job.Tasks[0].BackendId == 0 || job.Tasks[0].Epoch == before.Tasks[0].Epoch {
			t.Errorf("with the column the job is %v after %d resumptions, its tasks %v", job.State, job.AutoResumes, job.Tasks)
		}
		if got := b.cell("SHOW ROUTINE LOAD FOR j", "OtherMsg"); !strings.Contains(got, "Resumed by itself at") || !strings.Contains(got, "does not fit") {
			t.Errorf("OtherMsg = %s", got)
		}
	})
}

// TestNotResumedWithoutItsTopic: an automatic resumption waits for the topic,
// says so, and does not count what it did not do.
func TestNotResumedWithoutItsTopic(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.createClassic("j", "", "")
		b.lead()
		time.Sleep(5 * time.Second)
		b.admin(func(ctx context.Context, adm *kadm.Client) error {
			_, err := adm.DeleteTopics(ctx, "orders")
			return err
		})
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
			JobId: b.job().Id, To: raftlogv1.JobState_JOB_STATE_PAUSED, ReasonCode: 4, Reason: "no partitions"}}})
		time.Sleep(time.Minute)
		if job := b.job(); job.State != raftlogv1.JobState_JOB_STATE_PAUSED || job.AutoResumes != 0 {
			t.Errorf("without its topic the job is %v after %d resumptions", job.State, job.AutoResumes)
		}
		if got := b.cell("SHOW ROUTINE LOAD FOR j", "OtherMsg"); !strings.Contains(got, "The last try failed: topic 'orders'") {
			t.Errorf("OtherMsg = %s", got)
		}
		b.admin(func(ctx context.Context, adm *kadm.Client) error {
			_, err := adm.CreateTopic(ctx, 1, 1, nil, "orders")
			return err
		})
		time.Sleep(2 * upkeepEvery)
		if job := b.job(); job.State != raftlogv1.JobState_JOB_STATE_RUNNING || job.AutoResumes != 1 {
			t.Errorf("with its topic the job is %v after %d resumptions", job.State, job.AutoResumes)
		}
	})
}

// TestChangeOfMode: the share group of a job that became classic is deleted; it
// is made again, and pinned at what is settled, when the job goes back.
func TestChangeOfMode(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.produce(1, 5)
		if err := b.create("j", ""); err != nil {
			t.Fatal(err)
		}
		b.lead()
		time.Sleep(5 * time.Second)
		b.must("PAUSE ROUTINE LOAD FOR j")
		b.must(`ALTER ROUTINE LOAD FOR j PROPERTIES("load_mode"="classic")`)
		b.must("RESUME ROUTINE LOAD FOR j")
		time.Sleep(3 * upkeepEvery)
		if got := b.readers(); got != "[0] [1] [2]" {
			t.Errorf("tasks read %s", got)
		}
		if p := b.positions(); len(p) != 0 {
			t.Errorf("the group that the job left is at %v", p)
		}
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_SettleOffsets{SettleOffsets: &raftlogv1.SettleOffsets{JobId: b.job().Id, Generation: b.job().Generation,
			Partitions: []*typesv1.PartitionOffsets{{TopicId: b.job().Starts[1].TopicId, Partition: 1, Void: []*typesv1.OffsetRange{{First: 0, Last: 2}}}}}}})
		b.must("PAUSE ROUTINE LOAD FOR j")
		b.must(`ALTER ROUTINE LOAD FOR j PROPERTIES("load_mode"="share_group")`)
		b.must("RESUME ROUTINE LOAD FOR j")
		time.Sleep(5 * time.Second)
		if job := b.job(); job.State != raftlogv1.JobState_JOB_STATE_RUNNING || len(job.Tasks) != 6 || job.LockDurationMs != 30_000 {
			t.Errorf("back in share mode the job is %v with %d tasks, locks last %d ms", job.State, len(job.Tasks), job.LockDurationMs)
		}
		if p := b.positions(); len(p) != 3 || p[1].Start != 3 {
			t.Errorf("the group is pinned at %v", p)
		}
	})
}

// TestResumeOfWhatWasAltered: RESUME pins a group for a definition; if ALTER has
// replaced it meanwhile, the job stays paused.
func TestResumeOfWhatWasAltered(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		if err := b.create("j", ""); err != nil {
			t.Fatal(err)
		}
		b.must("PAUSE ROUTINE LOAD FOR j")
		before := b.job()
		b.must(`ALTER ROUTINE LOAD FOR j PROPERTIES("max_error_number"="7")`)
		if err := b.manager.resume(t.Context(), before, false); !errors.Is(err, jobs.ErrMovedOn) || b.job().State != raftlogv1.JobState_JOB_STATE_PAUSED {
			t.Errorf("resume of the job as it was = %v, it is %v", err, b.job().State)
		}
		b.must("RESUME ROUTINE LOAD FOR j")
	})
}

// TestGroupOfAJobThatCameBack: while a job whose brokers do not answer holds
// the leader up, another one goes back to share mode. Its group is not deleted
// for what the job was when the leader began.
func TestGroupOfAJobThatCameBack(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		silent, err := b.network.Listen("tcp", "127.0.0.1:9999")
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		b.createClassic("away", "", "")
		away := b.job()
		unreachable := proto.CloneOf(away.Load)
		unreachable.Brokers = []string{"127.0.0.1:9999"}
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_ChangeJobState{ChangeJobState: &raftlogv1.ChangeJobState{
			JobId: away.Id, To: raftlogv1.JobState_JOB_STATE_PAUSED, ReasonCode: 4, Reason: "no partitions"}}})
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_AlterRoutineLoad{AlterRoutineLoad: &raftlogv1.AlterRoutineLoad{JobId: away.Id, Load: unreachable}}})
		if err := b.create("j", ""); err != nil {
			t.Fatal(err)
		}
		b.must("PAUSE ROUTINE LOAD FOR j")
		b.must(`ALTER ROUTINE LOAD FOR j PROPERTIES("load_mode"="classic")`)
		b.lead()
		time.Sleep(upkeepEvery + kafka.CheckTimeout/2)
		b.must(`ALTER ROUTINE LOAD FOR j PROPERTIES("load_mode"="share_group")`)
		b.must("RESUME ROUTINE LOAD FOR j")
		time.Sleep(2 * kafka.CheckTimeout)
		if p := b.positions(); len(p) != 3 {
			t.Errorf("the group is pinned at %v", p)
		}
	})
}
