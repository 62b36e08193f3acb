package routineload

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/fe/errno"
	"shoal/fe/kafka"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/parse"
)

// alter carries out ALTER ROUTINE LOAD FOR j.
func (b *bench) alter(clauses string) error {
	b.t.Helper()
	b.session.ClearWarnings()
	return b.alterBy(b.session, clauses)
}

// alterBy is alter by another client.
func (b *bench) alterBy(client *session.Session, clauses string) error {
	b.t.Helper()
	stmt, err := parse.Parse("ALTER ROUTINE LOAD FOR j " + clauses)
	if err != nil {
		b.t.Fatalf("%s: %v", clauses, err)
	}
	return b.manager.Alter(b.t.Context(), client, stmt.(*ast.AlterRoutineLoad))
}

func (b *bench) mustAlter(clauses string) {
	b.t.Helper()
	if err := b.alter(clauses); err != nil {
		b.t.Fatalf("%s: %v", clauses, errno.From(err).Msg)
	}
}

// showCreate is the statement that makes j again.
func (b *bench) showCreate() string {
	b.t.Helper()
	table, err := b.manager.ShowCreate(b.t.Context(), b.session, &ast.ShowCreateRoutineLoad{Job: ast.Name{Name: "j"}})
	if err != nil {
		b.t.Fatal(err)
	}
	return at(table, 0, "CreateStmt")
}

// settled is where the job's ledgers of the partitions 0 to 2 stand.
func (b *bench) settled() (out [3]int64) {
	id := b.job().Id
	var views []ledger.View
	b.View(func(s *state.State) { views = s.Ledgers(id) })
	for _, v := range views {
		out[v.Partition] = v.Settled
	}
	return out
}

func TestAlterDefinition(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.must(`CREATE ROUTINE LOAD j ON orders COLUMNS(id, name) PROPERTIES("format"="json") FROM KAFKA("kafka_broker_list"="` + b.broker.ListenAddrs()[0] +
			`", "kafka_topic"="orders", "property.kafka_default_offsets"="OFFSET_BEGINNING") COMMENT 'it''s mine'`)
		if err := b.alter(`PROPERTIES("max_error_number"="5")`); err == nil || !strings.Contains(err.Error(), "Only supports modification of PAUSED jobs; j is NEED_SCHEDULE") {
			t.Errorf("ALTER of a job that is not paused: %v", err)
		}
		b.must("PAUSE ROUTINE LOAD FOR j")
		generation := b.job().Generation
		b.mustAlter(`COLUMNS(id, raw, name = upper(raw)), WHERE id > 3 PROPERTIES("max_error_number"="5", "jsonpaths"="[\"$.id\",\"$.\\\"a.b\\\"\"]")`)
		job := b.job()
		if job.Load.MaxErrorNumber != 5 || job.Load.Where != "id > 3" || job.Generation != generation || job.State != raftlogv1.JobState_JOB_STATE_PAUSED {
			t.Errorf("the job is %v", job)
		}
		text := b.showCreate()
		for _, part := range []string{"CREATE ROUTINE LOAD `j` ON `orders`", "COLUMNS (`id`, `raw`, `Name` = upper(raw))", "WHERE id > 3", `"max_error_number" = "5"`, `COMMENT "it's mine"`} {
			if !strings.Contains(text, part) {
				t.Errorf("SHOW CREATE has no %s:\n%s", part, text)
			}
		}
		before := job.Load
		b.must("STOP ROUTINE LOAD FOR j")
		b.must(text)
		again := b.job().Load
		again.GroupId = before.GroupId
		if before.String() != again.String() {
			t.Errorf("the text of SHOW CREATE makes %v\nnot %v", again, before)
		}
		for _, clauses := range []string{"", "PROPERTIES(\"strict_mode\"=\"maybe\")", "COLUMNS(id, name = nosuch(id))", "SET TARGET TABLE = 'nosuch'", `FROM KAFKA("kafka_topic"="nosuch")`} {
			b.sql("PAUSE ROUTINE LOAD FOR j")
			if err := b.alter(clauses); err == nil {
				t.Errorf("ALTER %q was taken", clauses)
			}
		}
	})
}

func TestAlterOffsets(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.produce(0, 9)
		b.produce(1, 4)
		if err := b.create("j", ""); err != nil {
			t.Fatal(err)
		}
		b.must("PAUSE ROUTINE LOAD FOR j")
		b.mustAlter(`FROM KAFKA("kafka_partitions"="0,1", "kafka_offsets"="7,OFFSET_END")`)
		if got := b.settled(); got != [3]int64{7, 4, 0} || b.job().Generation != 2 {
			t.Errorf("settled at %v, generation %d", got, b.job().Generation)
		}
		if text := b.showCreate(); strings.Contains(text, "kafka_partitions") {
			t.Errorf("moving partitions became part of the definition:\n%s", text)
		}
		for clauses, part := range map[string]string{
			`FROM KAFKA("kafka_partitions"="0", "kafka_offsets"="10")`: "offset 10 is out of range in topic 'orders', partition 0: a job can begin at offsets 0 to 9",
			`FROM KAFKA("kafka_partitions"="3", "kafka_offsets"="0")`:  "the partition 3 is not in the progress of the job, which has 0 1 2",
		} {
			if err := b.alter(clauses); err == nil || !strings.Contains(errno.From(err).Msg, part) {
				t.Errorf("%s: %v, want %q", clauses, err, part)
			}
		}
		b.must("RESUME ROUTINE LOAD FOR j")
		if p := b.positions(); p[0].Start != 7 || p[1].Start != 4 {
			t.Errorf("RESUME pinned at %v", p)
		}
	})
}

func TestAlterMode(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.produce(0, 9)
		b.must(`CREATE ROUTINE LOAD j ON orders PROPERTIES("format"="json") FROM KAFKA("kafka_broker_list"="` + b.broker.ListenAddrs()[0] + `", "kafka_topic"="orders")`)
		if job := b.job(); !job.Started || job.LockDurationMs != 0 || len(b.positions()) != 0 {
			t.Errorf("a classic job: %v, its group at %v", job, b.positions())
		}
		b.must("PAUSE ROUTINE LOAD FOR j")
		b.mustAlter(`PROPERTIES("load_mode"="share_group", "share_record_lock_duration_ms"="20000")`)
		if job := b.job(); job.Load.Mode != typesv1.RoutineLoad_MODE_SHARE_GROUP || job.LockDurationMs != 20_000 || job.Generation != 1 {
			t.Errorf("the job is %v", job)
		}
		b.must("RESUME ROUTINE LOAD FOR j")
		if p := b.positions(); p[0].Start != 9 {
			t.Errorf("RESUME pinned at %v, want where the classic job stood", p)
		}
		b.lead()
		time.Sleep(3 * time.Second)
		b.must("PAUSE ROUTINE LOAD FOR j")
		b.mustAlter(`PROPERTIES("load_mode"="classic")`)
		if warnings := b.session.Warnings(); len(warnings) != 1 || !strings.Contains(warnings[0].Message, "share_record_lock_duration_ms") {
			t.Errorf("warnings %v", warnings)
		}
	})
}

func TestStartsInShareMode(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.produce(0, 9)
		create := func(source string) error {
			_, err := b.sql(`CREATE ROUTINE LOAD j ON orders PROPERTIES("load_mode"="share_group") FROM KAFKA("kafka_broker_list"="` + b.broker.ListenAddrs()[0] +
				`", "kafka_topic"="orders", ` + source + `)`)
			return err
		}
		for source, part := range map[string]string{
			`"kafka_partitions"="0,1", "kafka_offsets"="0,0"`:                 "must name all 3 partitions of topic 'orders'",
			`"kafka_partitions"="0,1,2,3", "kafka_offsets"="0,0,0,0"`:         "has no partition 3",
			`"kafka_partitions"="0,1,2", "kafka_offsets"="100,0,0"`:           "offset 100 is out of range in topic 'orders', partition 0: a job can begin at offsets 0 to 9",
			`"property.kafka_default_offsets"="OFFSET_END", "property.x"="y"`: "property.x is not known",
		} {
			if err := create(source); err == nil || !strings.Contains(errno.From(err).Msg, part) {
				t.Errorf("%s: %v, want %q", source, err, part)
			}
		}
		if err := create(`"kafka_partitions"="2,1,0", "kafka_offsets"="OFFSET_END,OFFSET_BEGINNING,5"`); err != nil {
			t.Fatal(err)
		}
		if p := b.positions(); p[0].Start != 5 || p[1].Start != 0 {
			t.Errorf("pinned at %v", p)
		}
		if text := b.showCreate(); !strings.Contains(text, `"kafka_partitions" = "0,1,2"`) || !strings.Contains(text, `"kafka_offsets" = "5,OFFSET_BEGINNING,OFFSET_END"`) {
			t.Errorf("SHOW CREATE:\n%s", text)
		}
	})
}

// TestAlterToAnotherTopic: by its name, and by brokers that have another topic
// of the same name.
func TestAlterToAnotherTopic(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.admin(func(ctx context.Context, adm *kadm.Client) error {
			_, err := adm.CreateTopics(ctx, 2, 1, nil, "other")
			return err
		})
		b.produce(0, 3)
		b.createClassic("j", "", "")
		b.must("PAUSE ROUTINE LOAD FOR j")
		b.mustAlter(`FROM KAFKA("kafka_topic"="other", "property.kafka_default_offsets"="OFFSET_BEGINNING")`)
		if got := strings.Join(b.ledgers(), " "); got != "0@0 1@0" || b.job().Load.Topic != "other" {
			t.Errorf("ledgers %s of topic %s", got, b.job().Load.Topic)
		}
		b.admin(func(ctx context.Context, adm *kadm.Client) error {
			if _, err := adm.DeleteTopics(ctx, "other"); err != nil {
				return err
			}
			_, err := adm.CreateTopics(ctx, 2, 1, nil, "other")
			return err
		})
		b.mustAlter(`FROM KAFKA("property.client.id"="c")`)
		if w := b.session.Warnings(); len(w) != 1 || !strings.Contains(w[0].Message, "from its beginning") {
			t.Errorf("warnings %v", w)
		}
		b.session.ClearWarnings()
		former := b.job()
		b.mustAlter(`FROM KAFKA("kafka_partitions"="0,1", "kafka_offsets"="0,OFFSET_END")`)
		if job := b.job(); len(job.Starts) != 2 || bytes.Equal(job.Starts[0].TopicId, former.Starts[0].TopicId) || len(b.ledgers()) != 2 || len(b.session.Warnings()) != 0 {
			t.Errorf("the topic that was created again is read from %v, ledgers %v, warnings %v", job.Starts, b.ledgers(), b.session.Warnings())
		}
	})
}

func TestOrderIsWarnedAbout(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.session.ClearWarnings()
		if err := b.create("plain", ""); err != nil || len(b.session.Warnings()) != 0 {
			t.Errorf("CREATE: %v, warnings %v", err, b.session.Warnings())
		}
		b.admin(func(ctx context.Context, adm *kadm.Client) error {
			_, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "cleanup.policy", Value: kadm.StringPtr("compact,delete")}}, "orders")
			return err
		})
		if err := b.create("compacted", ""); err != nil {
			t.Fatal(err)
		}
		if w := b.session.Warnings(); len(w) != 1 || !strings.Contains(w[0].Message, "topic 'orders' is compacted") {
			t.Errorf("warnings %v", w)
		}
		b.session.ClearWarnings()
		if b.createClassic("classic", "", ""); len(b.session.Warnings()) != 0 {
			t.Errorf("classic mode keeps order: %v", b.session.Warnings())
		}
	})
}

func TestMultiTableJob(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		for _, mode := range []string{"classic", "share_group"} {
			b.must(`CREATE ROUTINE LOAD ` + "`größe." + mode + "`" + ` PROPERTIES("load_mode"="` + mode + `", "format"="json") FROM KAFKA("kafka_broker_list"="` +
				b.broker.ListenAddrs()[0] + `", "kafka_topic"="orders")`)
			name := "`größe." + mode + "`"
			for column, want := range map[string]string{"TableName": "", "IsMultiTable": "true", "Name": "größe." + mode} {
				if got := b.cell("SHOW ROUTINE LOAD FOR "+name, column); got != want {
					t.Errorf("%s: %s = %q, want %q", mode, column, got, want)
				}
			}
			b.must("PAUSE ROUTINE LOAD FOR " + name)
			b.must("RESUME ROUTINE LOAD FOR " + name)
		}
	})
}

// TestOneGroupForClassicJobs: a classic job's group.id is only a name.
func TestOneGroupForClassicJobs(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		b.createClassic("first", "", `, "property.group.id"="mine"`)
		b.createClassic("second", "", `, "property.group.id"="mine"`)
	})
}

func TestDeadLetterTopicMustExist(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		_, err := b.sql(`CREATE ROUTINE LOAD j ON orders PROPERTIES("dead_letter_topic"="nosuch") FROM KAFKA("kafka_broker_list"="` +
			b.broker.ListenAddrs()[0] + `", "kafka_topic"="orders")`)
		if err == nil || !strings.Contains(errno.From(err).Msg, "dead_letter_topic must exist") {
			t.Errorf("CREATE: %v", err)
		}
	})
}

func TestShowsSecretsNowhere(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		if err := b.create("j", ""); err != nil {
			t.Fatal(err)
		}
		b.must("PAUSE ROUTINE LOAD FOR j")
		load, err := b.manager.cfg.Secrets.Seal(&typesv1.RoutineLoad{CustomProperties: map[string]string{"sasl.password": "hunter2"}})
		if err != nil {
			t.Fatal(err)
		}
		changed := b.job().Load
		changed.CustomProperties["sasl.password"] = load.CustomProperties["sasl.password"]
		b.apply(&raftlogv1.Command{Body: &raftlogv1.Command_AlterRoutineLoad{AlterRoutineLoad: &raftlogv1.AlterRoutineLoad{JobId: b.job().Id, Load: changed}}})
		shown := b.showCreate() + b.cell("SHOW ROUTINE LOAD FOR j", "CustomProperties")
		for _, row := range b.manager.Rows(b.session) {
			for _, cell := range row {
				if cell != nil {
					shown += *cell
				}
			}
		}
		if strings.Contains(shown, "hunter2") || strings.Contains(shown, load.CustomProperties["sasl.password"]) || strings.Count(shown, `******`) != 3 {
			t.Errorf("shown: %s", shown)
		}
	})
}

// TestAltersAtOnce: an ALTER that waits for brokers holds up no other job's, and
// one of the same job that was quicker is not lost.
func TestAltersAtOnce(t *testing.T) {
	managed(t, func(t *testing.T, b *bench) {
		silent, err := b.network.Listen("tcp", "127.0.0.1:9999")
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		b.createClassic("other", "", "")
		b.must("PAUSE ROUTINE LOAD FOR other")
		b.createClassic("j", "", "")
		b.must("PAUSE ROUTINE LOAD FOR j")
		began := time.Now()
		another := func() *session.Session {
			s := session.New(2, "root", "h", session.NewGlobals(session.DefaultServer()))
			s.DB = b.session.DB
			return s
		}
		var slow sync.WaitGroup
		slow.Go(func() {
			if err := b.alterBy(another(), `FROM KAFKA("kafka_broker_list"="127.0.0.1:9999")`); err == nil || time.Since(began) < kafka.CheckTimeout {
				t.Errorf("ALTER to brokers that do not answer: %v after %v", err, time.Since(began))
			}
		})
		b.broker.ControlKey(kmsg.Metadata.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
			b.broker.SleepControl(func() { time.Sleep(time.Second) })
			return nil, nil, false
		})
		slow.Go(func() {
			if err := b.alterBy(another(), `FROM KAFKA("property.client.id"="c")`); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second / 2)
		b.must(`ALTER ROUTINE LOAD FOR other PROPERTIES("max_error_number"="7")`)
		b.must(`ALTER ROUTINE LOAD FOR j PROPERTIES("max_error_number"="7")`)
		if took := time.Since(began); took > time.Second {
			t.Errorf("ALTERs that need no broker took %v", took)
		}
		slow.Wait()
		if load := b.job().Load; load.MaxErrorNumber != 7 || load.CustomProperties["client.id"] != "c" {
			t.Errorf("the definition is %v", load)
		}
	})
}

// TestRefusalsHaveWords: what the state machine refuses because of another
// statement in between is told, and not an internal error.
func TestRefusalsHaveWords(t *testing.T) {
	stmt, db := &ast.CreateRoutineLoad{Job: ast.Name{Name: "j"}, Table: "t"}, &raftlogv1.Database{Name: "d"}
	for _, tt := range []struct {
		err  error
		code errno.Code
		part string
	}{
		{createError(fmt.Errorf("%w: id 1", catalog.ErrNoDatabase), stmt, db), errno.UnknownDatabase, "Unknown database 'd'"},
		{createError(fmt.Errorf("%w: id 1", catalog.ErrNoTable), stmt, db), errno.UnknownTable, "Unknown table 't' in database 'd'"},
		{createError(fmt.Errorf("%w: g", jobs.ErrGroupInUse), stmt, db), errno.Unknown, "property.group.id: another job uses that group: g"},
		{alterError(fmt.Errorf("%w: id 1", catalog.ErrNoDatabase)), errno.Unknown, "the job has changed meanwhile"},
		{alterError(fmt.Errorf("%w: id 1", jobs.ErrNoJob)), errno.Unknown, "the job has changed meanwhile"},
		{alterError(fmt.Errorf("%w: j is RUNNING", jobs.ErrNotPaused)), errno.Unknown, "Only supports modification of PAUSED jobs"},
		{controlError(jobs.ErrMovedOn), errno.Unknown, "the job has changed meanwhile"},
		{controlError(jobs.TransitionError{From: raftlogv1.JobState_JOB_STATE_STOPPED, To: raftlogv1.JobState_JOB_STATE_PAUSED}), errno.Unknown, "Could not transform STOPPED to PAUSED"},
	} {
		if e := errno.From(tt.err); e.Code != tt.code || !strings.Contains(e.Msg, tt.part) {
			t.Errorf("%v, want %d and %q", tt.err, tt.code.Num, tt.part)
		}
	}
}
