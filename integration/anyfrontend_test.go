package integration

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"shoal/integration/cluster"
)

// TestClientOnEachFrontend: a client on each of three frontends writes and reads
// what it wrote, while the one that leads is killed. What was answered is
// everywhere in the end, what was surely not carried out is nowhere, and nothing
// is carried out twice.
func TestClientOnEachFrontend(t *testing.T) {
	t.Parallel()
	fes := cluster.StartFrontends(t, 3)
	var clients []*statementClient
	for i, fe := range fes {
		clients = append(clients, &statementClient{t: t, db: fe.DB(), name: fmt.Sprintf("on%d", i)})
	}
	var running sync.WaitGroup
	stop := make(chan struct{})
	for _, c := range clients {
		running.Go(func() { c.run(stop) })
	}
	await := func(what string, more int64, clients ...*statementClient) {
		t.Helper()
		for _, c := range clients {
			from := c.written.Load()
			cluster.Eventually(t, limit, func() error {
				if n := c.written.Load() - from; n < more {
					return fmt.Errorf("%s: client %s wrote %d times more, want %d", what, c.name, n, more)
				}
				return nil
			})
		}
	}
	await("at first", 5, clients...)
	lost := fes.Leader(t)
	lost.Kill()
	var others []*statementClient
	for i, fe := range fes {
		if fe != lost {
			others = append(others, clients[i])
		}
	}
	await("after the leader was killed", 10, others...)
	lost.Run()
	await("when it is back", 5, clients...)
	close(stop)
	running.Wait()
	for i, fe := range fes {
		var jobs int // by a prepared statement, at the leader
		if err := fe.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.routine_load_jobs WHERE JOB_NAME <> ?", "it's").Scan(&jobs); err != nil || jobs != 0 {
			t.Errorf("a prepared query of jobs at frontend %d: %d, %v", i, jobs, err)
		}
		shown := map[string]bool{}
		for _, row := range query(t, fe.DB(), "SHOW DATABASES") {
			shown[row["Database"]] = true
		}
		for _, c := range clients {
			for name, there := range c.certain {
				if shown[name] != there {
					t.Errorf("client %s was told that %s is there: %v; frontend %d shows it: %v", c.name, name, there, i, shown[name])
				}
			}
		}
	}
}

// A statementClient makes databases, and looks whether they are there.
type statementClient struct {
	t       *testing.T
	db      *sql.DB
	name    string
	written atomic.Int64
	certain map[string]bool // by name of the database, whether it exists
}

func (c *statementClient) run(stop <-chan struct{}) {
	c.certain = map[string]bool{}
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		name := fmt.Sprintf("%s_%d", c.name, n)
		_, err := c.db.ExecContext(c.t.Context(), "CREATE DATABASE "+name)
		var refusal *mysql.MySQLError
		switch {
		case err == nil:
			c.certain[name] = true
			c.written.Add(1)
			c.look(name)
		case !errors.As(err, &refusal): // the connection was lost, and with it the answer
		case refusal.Number == 3168:
			c.certain[name] = false
		case refusal.Number != 1105 || string(refusal.SQLState[:]) != "08007":
			c.t.Errorf("client %s: CREATE DATABASE %s: %v", c.name, name, err)
		}
	}
}

// look reads a write of the client's own; a frontend that is lost says nothing.
func (c *statementClient) look(name string) {
	var found string
	err := c.db.QueryRowContext(c.t.Context(), "SHOW DATABASES LIKE '"+name+"'").Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		c.t.Errorf("client %s does not see %s, which it has made", c.name, name)
	}
}

// TestBackendsBySQL: a backend is added before it comes, taken out of use,
// refused, and added again, by statements at any frontend.
func TestBackendsBySQL(t *testing.T) {
	t.Parallel()
	fes := cluster.StartFrontends(t, 2)
	leads, follows := fes.Leader(t), fes[0]
	if leads == fes[0] {
		follows = fes[1]
	}
	db := follows.DB()
	be := cluster.New(t, "be", "--fe", follows.Ready.RPC)
	run := func(statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	stay := cluster.Start(t, "be", "--fe", fes.RPC())
	be.Run()
	where := "'" + be.Ready.RPC + "'"
	shown := func() map[string]map[string]string {
		all := map[string]map[string]string{}
		for _, row := range query(t, db, "SHOW BACKENDS") {
			all[row["Host"]+":"+row["HeartbeatPort"]] = row
		}
		return all
	}
	cluster.Eventually(t, limit, func() error {
		if all := shown(); all[be.Ready.RPC]["Alive"] != "true" || all[stay.Ready.RPC]["Alive"] != "true" {
			return fmt.Errorf("SHOW BACKENDS: %v", all)
		}
		return nil
	})
	run("ALTER SYSTEM DECOMMISSION BACKEND " + where)
	cluster.Eventually(t, limit, func() error {
		if all := shown(); len(all) != 1 {
			return fmt.Errorf("a backend without tasks was not dropped when it was decommissioned: %v", all)
		}
		return nil
	})
	be.Stop()
	if err := be.TryRun(); err == nil {
		t.Error("a backend that was dropped is back")
	}
	run("ALTER SYSTEM ADD BACKEND " + where)
	if out := mustShoal(t, "admin", "nodes", "--fe", follows.Ready.RPC); strings.Count(out, " follower ") != 2 || strings.Count(out, " backend ") != 2 {
		t.Errorf("shoal admin nodes at a frontend that follows:\n%s", out)
	}
	if row := shown()[be.Ready.RPC]; row["Alive"] != "false" {
		t.Errorf("a backend that has not come yet: %v", row)
	}
	be.Run()
	run("ALTER SYSTEM DROP BACKEND " + where)
	if all := shown(); len(all) != 1 {
		t.Errorf("a backend without tasks was not dropped: %v", all)
	}
}
