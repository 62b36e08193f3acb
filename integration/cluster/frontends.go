package cluster

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
)

// Frontends are those of one cluster.
type Frontends []*Process

// StartFrontends starts n frontends, of which the first makes the cluster and
// the others join it, and waits until all serve. args are given to each.
func StartFrontends(t testing.TB, n int, args ...string) Frontends {
	t.Helper()
	all := Frontends{Start(t, "fe", append([]string{"--bootstrap"}, args...)...)}
	for range n - 1 {
		all = append(all, all.Join(t, args...))
	}
	return all
}

// Join starts one more frontend, which asks those that run.
func (f Frontends) Join(t testing.TB, args ...string) *Process {
	t.Helper()
	return Start(t, "fe", append([]string{"--join", f.RPC()}, args...)...)
}

// RPC are the rpc addresses of all, as --fe and --join take them.
func (f Frontends) RPC() string {
	var addrs []string
	for _, p := range f {
		addrs = append(addrs, p.Ready.RPC)
	}
	return strings.Join(addrs, ",")
}

// Running are those that do.
func (f Frontends) Running() Frontends {
	return slices.DeleteFunc(slices.Clone(f), func(p *Process) bool { return !p.Running() })
}

// Leader waits until one of those that run leads, and returns it.
func (f Frontends) Leader(t testing.TB) (leader *Process) {
	t.Helper()
	Eventually(t, StartTimeout, func() error {
		running := f.Running()
		var failed error
		for _, asked := range running {
			addr, err := leaderAt(t.Context(), asked.DB())
			failed = errors.Join(failed, err)
			if i := slices.IndexFunc(running, func(p *Process) bool { return p.Ready.RPC == addr }); i >= 0 {
				leader = running[i]
				return nil
			}
		}
		return errors.Join(errors.New("none of the frontends that run leads"), failed)
	})
	return leader
}

// leaderAt is the rpc address of the one that leads, as a frontend knows it.
func leaderAt(ctx context.Context, db *sql.DB) (addr string, err error) {
	defer db.Close()
	all, err := Rows(ctx, db, "SHOW FRONTENDS")
	for _, row := range all {
		if row["IsMaster"] == "true" {
			return net.JoinHostPort(row["Host"], row["RpcPort"]), nil
		}
	}
	return "", err
}

// A Querier is a database, or one connection to it.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Rows are the answer to a query, by column; NULL is "NULL".
func Rows(ctx context.Context, db Querier, query string) ([]map[string]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all []map[string]string
	for rows.Next() {
		cells := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := map[string]string{}
		for i, column := range columns {
			row[column] = "NULL"
			if cells[i].Valid {
				row[column] = cells[i].String
			}
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
