package forward_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"shoal/fe/errno"
	"shoal/fe/forward"
	"shoal/fe/literal"
	"shoal/internal/textrow"
	frontendv1 "shoal/proto/frontend/v1"
)

func encodedRow(row []byte, p *printed) error {
	cells := make([][]byte, len(p.columns))
	if _, err := textrow.Next(row, cells); err != nil {
		return err
	}
	return p.Row(cells)
}

// has tells whether a result of one column has a row with text.
func has(p *printed, text string) bool {
	return slices.ContainsFunc(p.rows, func(row []string) bool { return row[0] == text })
}

// TestAnyFrontend: what is answered at one frontend is seen at each other at
// once, and an answer is the same everywhere.
func TestAnyFrontend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := startThree(t)
		for i, f := range all {
			name := fmt.Sprintf("d%d", i)
			f.must("CREATE DATABASE " + name)
			for _, other := range all {
				if !has(other.must("SHOW DATABASES"), name) {
					t.Errorf("%s was made at %s, and %s does not show it", name, f.id, other.id)
				}
				s := other.connect()
				if _, err := other.run(t.Context(), s, "USE "+name); err != nil || s.DB != name {
					t.Errorf("USE %s at %s: %v", name, other.id, err)
				}
				_, err := other.run(t.Context(), s, "CREATE DATABASE "+name)
				if e := errno.From(err); e == nil || e.Code.Num != 1007 || e.Code.State != "HY000" || e.Msg != "Can't create database '"+name+"'; database exists" {
					t.Errorf("CREATE DATABASE again at %s: %v", other.id, err)
				}
				if _, err = other.run(t.Context(), s, "CREATE DATABASE IF NOT EXISTS "+name); err != nil || len(s.Warnings()) != 1 || s.Warnings()[0].Code.Num != 1007 {
					t.Errorf("warnings at %s: %v, %v", other.id, s.Warnings(), err)
				}
			}
			s := all[2-i].connect()
			s.DB = name
			if _, err := all[2-i].run(t.Context(), s, "DROP DATABASE "+name); err != nil || s.DB != "" {
				t.Errorf("the session of a database that was dropped is in %q (%v)", s.DB, err)
			}
		}
	})
}

// TestSessionGoesAlong: a statement at the leader finds the session that it was
// written in, and only what the leader alone knows is asked of it.
func TestSessionGoesAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := startThree(t)
		for _, f := range all {
			s := f.connect()
			s.DB = "shop"
			for _, text := range []string{"SET time_zone = 'Asia/Tokyo'", "SET @n = 12, @text = 'it''s', @none = NULL", "SET sql_select_limit = 1"} {
				if _, err := f.run(t.Context(), s, text); err != nil {
					t.Fatal(err)
				}
			}
			p, err := f.run(t.Context(), s, "SHOW ROUTINE LOAD")
			if err != nil || fmt.Sprint(p.rows) != "[[fe1 root shop Asia/Tokyo]]" {
				t.Errorf("SHOW ROUTINE LOAD at %s: %v, %v", f.id, p.rows, err)
			}
			query := "SELECT JOB_NAME, @n + ?, @text, @none, CONNECTION_ID(), DATABASE(), USER(), @@hostname, @@sql_select_limit FROM information_schema.routine_load_jobs WHERE JOB_ID = 12"
			p, err = f.run(t.Context(), s, query, literal.Int(1))
			if want := "[[fe1 13 it's NULL 42 shop root@10.0.0.9 " + f.id + " 1]]"; err != nil || fmt.Sprint(p.rows) != want {
				t.Errorf("a query of jobs at %s: %v, %v, want %s", f.id, p.rows, err, want)
			}
			columns, err := f.stmts.Describe(t.Context(), s, "SHOW ROUTINE LOAD")
			if err != nil || len(columns) != 4 {
				t.Errorf("prepared at %s it has the columns %v, %v", f.id, columns, err)
			}
		}
		all[2].must("SHOW DATABASES")
		if got := all[2].cluster.LiveBackends(); !slices.Equal(got, []uint64{7}) {
			t.Errorf("backends that a follower may ask: %v, want those that the leader named", got)
		}
	})
}

// TestElection: statements wait while nobody leads.
func TestElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := startThree(t)
		all[0].must("CREATE DATABASE before")
		all[0].close()
		began := time.Now()
		all[1].must("CREATE DATABASE meanwhile")
		if took := time.Since(began); took > forward.Patience {
			t.Errorf("a statement waited for %v", took)
		}
		for _, name := range []string{"before", "meanwhile"} {
			if !has(all[2].must("SHOW DATABASES"), name) {
				t.Errorf("%s is not there after the election", name)
			}
		}
		all[0].open()
		if !has(all[0].must("SHOW DATABASES"), "meanwhile") {
			t.Error("the old leader is back and shows what was there before")
		}
	})
}

// TestNoMajority: a statement is refused in the end, and surely was not carried
// out; what needs only its session is answered.
func TestNoMajority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := startThree(t)
		all[0].must("CREATE DATABASE d")
		if !all[1].cluster.Led(t.Context()) {
			t.Error("Led = false with a leader")
		}
		all[0].close()
		all[1].close()
		began := time.Now()
		if led, took := all[2].cluster.Led(t.Context()), time.Since(began); led || took > 3*time.Second {
			t.Errorf("without a majority: Led = %v after %v, want false soon", led, took)
		}
		if _, err := all[2].cluster.Ask(t.Context(), all[0].rpcAddr()); err == nil || !strings.HasPrefix(err.Error(), "cannot be reached: ") {
			t.Errorf("asking one that is down: %v", err)
		}
		for _, text := range []string{"SHOW DATABASES", "CREATE DATABASE never", "SHOW ROUTINE LOAD", "USE d"} {
			began := time.Now()
			_, err := all[2].run(t.Context(), all[2].connect(), text)
			if took := time.Since(began); !errors.Is(err, errno.NotAvailable) || took > 2*forward.Patience {
				t.Errorf("%s without a majority: %v after %v, want NotAvailable", text, err, took)
			}
		}
		if p := all[2].must("SELECT 1 + 1, @@hostname"); fmt.Sprint(p.rows) != "[[2 fe3]]" {
			t.Errorf("a query without tables: %v", p.rows)
		}
		all[1].open()
		if has(all[2].must("SHOW DATABASES"), "never") {
			t.Error("a statement that was refused was carried out")
		}
	})
}

// TestLeaderChangesMidway: a statement that had proposed nothing is carried out
// by the next leader; of one that had, the outcome is unknown.
func TestLeaderChangesMidway(t *testing.T) {
	for i, at := range []string{"at the leader", "forwarded"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := startThree(t)
				f := all[i] // the first leads
				s := f.connect()
				if _, err := f.run(t.Context(), s, "RESUME ROUTINE LOAD FOR d.again"); err != nil {
					t.Errorf("a statement whose leader went before it proposed: %v", err)
				}
				if !has(f.must("SHOW DATABASES"), "again") {
					t.Error("it was not carried out by the next leader")
				}
				if now := leader(t, all...); now == all[0] {
					t.Fatal("the leader did not change")
				}
				_, err := f.run(t.Context(), s, "PAUSE ROUTINE LOAD FOR d.half")
				if !outcomeUnknown(err) {
					t.Errorf("a statement whose leader went in the middle: %v", err)
				}
				shown := f.must("SHOW DATABASES")
				if !has(shown, "half_1") || has(shown, "half_2") {
					t.Errorf("it was carried out again, or not at all: %v", shown.rows)
				}
			})
		})
	}
}

// outcomeUnknown tells whether an error says so, from here or relayed.
func outcomeUnknown(err error) bool {
	e := errno.From(err)
	return e != nil && e.Code.Num == errno.OutcomeUnknown.Num && e.Code.State == errno.OutcomeUnknown.State
}

// TestLostLeader: a leader that is cut off in the middle of a forwarded change
// leaves its outcome unknown, and the user hears of it once another leads. What
// only shows something is asked of the next one.
func TestLostLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := startThree(t)
		all[1].must("CREATE DATABASE d")
		answers := make(chan error, 2)
		ask := func(text string) {
			_, err := all[1].run(t.Context(), all[1].connect(), text)
			answers <- err
		}
		all[1].network.silence("fe1")
		began := time.Now()
		go ask("CREATE DATABASE lost")
		go ask("SHOW ROUTINE LOAD")
		var unknown, well int
		for range 2 {
			switch err := <-answers; {
			case outcomeUnknown(err):
				unknown++
			case err == nil:
				well++
			default:
				t.Errorf("a statement at a leader that was cut off: %v", err)
			}
		}
		if took := time.Since(began); unknown != 1 || well != 1 || took > forward.Patience {
			t.Errorf("%d outcomes are unknown and %d statements were answered after %v; want 1 of each", unknown, well, took)
		}
		all[1].network.heal("fe1")
		if all[0].must("SHOW ROUTINE LOAD").rows[0][0] == "fe1" {
			t.Error("the old leader answers for itself")
		}
	})
}

// TestCancel: a statement at the leader ends with its client, tells how far it
// has come until then, and its client hears the reason.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := startThree(t)
		s := all[1].connect()
		var progress string
		s.Progress = func(state string) { progress = state }
		running, kill := context.WithCancelCause(t.Context())
		answer := make(chan error, 1)
		go func() {
			_, err := all[1].run(running, s, "ADMIN CHECK ROUTINE LOAD LEDGER FOR d.j")
			answer <- err
		}()
		<-all[0].jobs.entered
		synctest.Wait()
		kill(errno.New(errno.QueryInterrupted, "Query execution was interrupted"))
		if err := <-answer; !errors.Is(err, errno.QueryInterrupted) {
			t.Errorf("a killed statement: %v", err)
		}
		synctest.Wait()
		if progress != "read 1 of 2 files" || !errors.Is(all[0].jobs.ended, context.Canceled) {
			t.Errorf("it told %q, and at the leader it ended with %v", progress, all[0].jobs.ended)
		}
	})
}

// TestNotForwardedTwice: a frontend that does not lead sends a forwarded
// statement, or call, back.
func TestNotForwardedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := startThree(t)
		all[0].must("CREATE DATABASE d")
		conn, err := grpc.NewClient(all[1].rpcAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(all[0].network.dialer("fe1")))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		client := frontendv1.NewFrontendServiceClient(conn)
		stream, err := client.Forward(t.Context(), &frontendv1.ForwardRequest{Sql: "CREATE DATABASE e"})
		if err != nil {
			t.Fatal(err)
		}
		_, forwarded := stream.Recv()
		_, asked := client.ReadIndex(t.Context(), &frontendv1.ReadIndexRequest{})
		for what, err := range map[string]error{"Forward": forwarded, "ReadIndex": asked} {
			if details := status.Convert(err).Details(); status.Code(err) != codes.FailedPrecondition || len(details) != 1 {
				t.Errorf("%s at a follower: %v, %v, want NotLeader", what, err, details)
			}
		}
		if said, err := client.FrontendStatus(t.Context(), &frontendv1.FrontendStatusRequest{}); err != nil || said.FrontendId != "fe2" || said.AppliedIndex == 0 {
			t.Errorf("FrontendStatus = %v, %v", said, err)
		}
	})
}

// TestCall: a call is carried out by the leader, wherever it is made.
func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := startThree(t)
		all[0].must("CREATE DATABASE d")
		for _, f := range all {
			var answered string
			here := func(context.Context) error { answered = "here"; return nil }
			there := func(ctx context.Context, conn grpc.ClientConnInterface) error {
				said, err := frontendv1.NewFrontendServiceClient(conn).FrontendStatus(ctx, &frontendv1.FrontendStatusRequest{})
				answered = said.GetFrontendId()
				return err
			}
			want := "fe1"
			if f == all[0] {
				want = "here"
			}
			if err := f.cluster.Call(t.Context(), here, there); err != nil || answered != want {
				t.Errorf("at %s it was answered by %s, %v", f.id, answered, err)
			}
		}
	})
}

// TestLargeResult: rows are sent in batches, and none is lost.
func TestLargeResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := startThree(t)
		all[0].must("CREATE DATABASE d")
		p := all[1].must("SHOW ROUTINE LOAD TASK WHERE JobName = 'j'")
		for i, row := range p.rows {
			if row[0] != strconv.Itoa(i) || len(row[1]) != 1024 {
				t.Fatalf("row %d is %.20v", i, row)
			}
		}
		if len(p.rows) != manyRows {
			t.Errorf("%d rows came", len(p.rows))
		}
	})
}
