package stmt

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"

	"shoal/fe/errno"
	"shoal/fe/membership"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/cluster"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
)

// listUnled is SHOW FRONTENDS or SHOW BACKENDS by what this frontend knows, for no
// frontend leads.
func (e *Executor) listUnled(ctx context.Context, s *session.Session, stmt ast.Stmt, w result.Writer) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	list, table := stmt.(*ast.ShowList), (*result.Table)(nil)
	if list.What == ast.Frontends {
		table = e.cfg.Nodes.Frontends(ctx, false)
	} else {
		table = e.cfg.Nodes.Backends(false)
	}
	s.Warn(session.LevelWarning, errno.NotAvailable, "No frontend that leads could be reached: this is what the frontend that answers knows, and may be old")
	if err := e.filter(ctx, s, table, list.Filter); err != nil {
		return err
	}
	return table.Send(w)
}

var roles = map[ast.FrontendRole]raftlogv1.FrontendRole{
	ast.Follower: raftlogv1.FrontendRole_FRONTEND_ROLE_FOLLOWER,
	ast.Observer: raftlogv1.FrontendRole_FRONTEND_ROLE_OBSERVER,
}

// alterFrontend carries out ALTER SYSTEM ADD or DROP of a frontend, by its
// edit log port.
func (e *Executor) alterFrontend(ctx context.Context, stmt *ast.AlterFrontend) error {
	host, port, err := splitAddress(stmt.Address)
	if err != nil {
		return err
	}
	change := e.cfg.Frontends.Add
	if stmt.Drop {
		change = e.cfg.Frontends.Drop
	}
	err = change(ctx, roles[stmt.Role], host, port)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, cluster.ErrFrontendExists):
		return refused("frontend already exists %s", stmt.Address)
	case errors.Is(err, cluster.ErrNoFrontend):
		return refused("frontend does not exist or is no %s: %s; SHOW FRONTENDS has the Host, EditLogPort and Role of each", stmt.Role, stmt.Address)
	case errors.Is(err, membership.ErrLeads), errors.Is(err, membership.ErrMajority):
		return refused("%v", err)
	}
	return unconfirmed(err)
}

// alterBackends carries out ALTER SYSTEM … BACKEND for one backend after the
// other. All must be there before the first is touched.
func (e *Executor) alterBackends(ctx context.Context, stmt *ast.AlterBackends) error {
	commands := make([]*raftlogv1.Command, len(stmt.Backends))
	for i, text := range stmt.Backends {
		command, err := e.backendCommand(stmt.Action, text)
		if err != nil {
			return err
		}
		commands[i] = command
	}
	for i, command := range commands {
		if _, err := e.propose(ctx, command); err != nil {
			return backendRefused(err, stmt.Backends[i])
		}
	}
	return nil
}

// backendCommand is what becomes of one backend, which is named as the user
// wrote it.
func (e *Executor) backendCommand(action ast.BackendAction, text string) (*raftlogv1.Command, error) {
	if action == ast.AddBackend {
		host, port, err := splitAddress(text)
		if err != nil {
			return nil, err
		}
		return &raftlogv1.Command{Body: &raftlogv1.Command_AddBackend{AddBackend: &raftlogv1.AddBackend{Host: host, RpcPort: port}}}, nil
	}
	id, err := e.backendNamed(text)
	if err != nil {
		return nil, err
	}
	switch action {
	case ast.DropBackend, ast.ForceDropBackend:
		return &raftlogv1.Command{Body: &raftlogv1.Command_DropBackend{
			DropBackend: &raftlogv1.DropBackend{BackendId: id, Idle: action == ast.DropBackend}}}, nil
	}
	return &raftlogv1.Command{Body: &raftlogv1.Command_DecommissionBackend{
		DecommissionBackend: &raftlogv1.DecommissionBackend{BackendId: id, Cancel: action == ast.CancelDecommission}}}, nil
}

// backendNamed finds a backend that was not dropped by id or "host:port".
func (e *Executor) backendNamed(text string) (uint64, error) {
	id, err := strconv.ParseUint(text, 10, 64)
	var host string
	var port uint32
	if err != nil {
		if host, port, err = splitAddress(text); err != nil {
			return 0, err
		}
	}
	var found uint64
	e.cfg.Store.View(func(st *state.State) {
		for _, b := range st.Backends() {
			if !b.Dropped && (b.Id == id || host != "" && strings.EqualFold(b.Host, host) && b.RpcPort == port) {
				found = b.Id
			}
		}
	})
	if found == 0 {
		return 0, refused("backend does not exist: %s; SHOW BACKENDS has the BackendId, Host and HeartbeatPort of each", text)
	}
	return found, nil
}

// backendRefused is a refusal of the state machine in words for the user.
func backendRefused(err error, text string) error {
	switch {
	case errors.Is(err, cluster.ErrBackendBusy):
		return refused(`backend %s has tasks: ALTER SYSTEM DECOMMISSION BACKEND "%s" lets them end what they hold and drops it then, ALTER SYSTEM DROPP BACKEND "%s" drops it at once`, text, text, text)
	case errors.Is(err, cluster.ErrBackendExists):
		return refused("backend already exists: %s", text)
	case errors.Is(err, cluster.ErrNoBackend), errors.Is(err, cluster.ErrBackendDropped):
		return refused("backend does not exist: %s", text)
	}
	return err
}

// splitAddress reads "host:port".
func splitAddress(text string) (host string, port uint32, err error) {
	host, digits, err := net.SplitHostPort(strings.TrimSpace(text))
	n, bad := strconv.ParseUint(digits, 10, 16)
	if err != nil || bad != nil || host == "" || n == 0 {
		return "", 0, refused(`invalid host port: "%s"; give it as "host:port"`, text)
	}
	return host, uint32(n), nil
}

// refused is an error in Doris's form.
func refused(format string, args ...any) error {
	return errno.New(errno.Unknown, "errCode = 2, detailMessage = "+format, args...)
}
