package session_test

import (
	"context"
	"errors"
	"testing"

	"shoal/fe/errno"
	"shoal/fe/session"
)

func TestKill(t *testing.T) {
	list := session.NewProcesses()
	connection, closeConnection := context.WithCancelCause(t.Context())
	defer closeConnection(nil)
	p := list.Add("127.0.0.1:5", closeConnection)
	p.Identify("root")

	if err := list.Kill(p.ID(), true); err != nil {
		t.Errorf("KILL QUERY of an idle one: %v", err)
	}
	query, end := p.Begin(connection, "Query", "select 1")
	defer end()
	if query.Err() != nil {
		t.Fatal("a kill before the query hit the query")
	}
	if got := list.List(); len(got) != 1 || got[0].User != "root" || got[0].Command != "Query" || got[0].Info != "select 1" {
		t.Errorf("list = %+v", got)
	}
	if err := list.Kill(p.ID(), true); err != nil {
		t.Fatal(err)
	}
	if cause := context.Cause(query); !errors.Is(cause, errno.QueryInterrupted) || connection.Err() != nil {
		t.Errorf("KILL QUERY: query %v, connection %v", cause, connection.Err())
	}
	end()
	_, end = p.Begin(connection, "Query", `SET PASSWORD = "hunter2"`)
	if got := list.List()[0]; got.Info != `SET PASSWORD = '***'` {
		t.Errorf("a password is shown: %s", got.Info)
	}
	p.Progress("read 1 of 2 files")
	if got := list.List()[0]; got.State != "read 1 of 2 files" {
		t.Errorf("a statement that tells how far it is: %+v", got)
	}
	end()
	p.Sleep("shop")
	if got := list.List()[0]; got.Command != "Sleep" || got.DB != "shop" || got.Info != "" || got.State != "" {
		t.Errorf("idle: %+v", got)
	}

	if err := list.Kill(p.ID(), false); err != nil {
		t.Fatal(err)
	}
	if cause := context.Cause(connection); !errors.Is(cause, errno.ConnectionKilled) {
		t.Errorf("KILL: connection %v", cause)
	}
	p.Remove()
	if err := list.Kill(p.ID(), false); !errors.Is(err, errno.NoSuchThread) || list.Len() != 0 {
		t.Errorf("KILL of one that is gone: %v, %d left", err, list.Len())
	}
}
