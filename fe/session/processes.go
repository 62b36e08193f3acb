package session

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"shoal/fe/errno"
	"shoal/fe/literal"
)

// Processes are the connections of a frontend. All methods are safe for
// concurrent use.
type Processes struct {
	mu   sync.Mutex
	last uint32
	live map[uint32]*Process
}

// NewProcesses makes an empty list.
func NewProcesses() *Processes { return &Processes{live: make(map[uint32]*Process)} }

// ProcessInfo is one row of SHOW PROCESSLIST.
type ProcessInfo struct {
	ID         uint32
	User, Host string // of a connection that has not logged in, User says so
	DB         string
	Command    string    // Connect, Sleep, Query, Execute, …
	Since      time.Time // begin of the command, or of the sleep
	State      string    // how far it has come, of statements that tell
	Info       string    // the statement's text
}

// A Process is one connection as others see it. All methods are safe for
// concurrent use.
type Process struct {
	list  *Processes
	close context.CancelCauseFunc // ends the connection

	// Guarded by list.mu.
	info      ProcessInfo
	interrupt context.CancelCauseFunc // ends the running command, nil if none
}

// Add lists a new connection under a fresh id. close must end the connection
// and not block.
func (p *Processes) Add(host string, close context.CancelCauseFunc) *Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		p.last++
		if p.last != 0 && p.live[p.last] == nil {
			break
		}
	}
	proc := &Process{list: p, close: close, info: ProcessInfo{
		ID: p.last, User: "unauthenticated user", Host: host, Command: "Connect", Since: time.Now(),
	}}
	p.live[p.last] = proc
	return proc
}

// Len is the number of connections.
func (p *Processes) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.live)
}

// List is all connections by id, with the secrets in statements hidden.
func (p *Processes) List() []ProcessInfo {
	infos := p.infos()
	for i := range infos {
		infos[i].Info = literal.HideSecrets(infos[i].Info)
	}
	slices.SortFunc(infos, func(a, b ProcessInfo) int { return cmp.Compare(a.ID, b.ID) })
	return infos
}

func (p *Processes) infos() []ProcessInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	infos := make([]ProcessInfo, 0, len(p.live))
	for _, proc := range p.live {
		infos = append(infos, proc.info)
	}
	return infos
}

// Kill interrupts what connection id is doing (nothing, if it is idle), with
// error 1317 to its client, and ends the connection unless onlyQuery. An id
// that is not there is error 1094. Whether the caller may is for the caller.
func (p *Processes) Kill(id uint32, onlyQuery bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	proc := p.live[id]
	if proc == nil {
		return errno.New(errno.NoSuchThread, "Unknown thread id: %d", id)
	}
	interrupted := errno.New(errno.QueryInterrupted, "Query execution was interrupted")
	if proc.interrupt != nil {
		proc.interrupt(interrupted)
	}
	if !onlyQuery {
		proc.close(errno.New(errno.ConnectionKilled, "Connection was killed"))
	}
	return nil
}

// ID is the connection's number.
func (p *Process) ID() uint32 { return p.info.ID }

// Identify names the user, after login.
func (p *Process) Identify(user string) {
	p.list.mu.Lock()
	defer p.list.mu.Unlock()
	p.info.User = user
}

// Begin shows a command as running and returns the context it runs under,
// which Kill cancels with a cause of code 1317. The caller must call end.
func (p *Process) Begin(ctx context.Context, command, info string) (running context.Context, end func()) {
	running, cancel := context.WithCancelCause(ctx)
	p.list.mu.Lock()
	defer p.list.mu.Unlock()
	p.info.Command, p.info.State, p.info.Info, p.info.Since = command, "", info, time.Now()
	p.interrupt = cancel
	return running, func() { cancel(nil) }
}

// Progress shows how far the running command has come.
func (p *Process) Progress(state string) {
	p.list.mu.Lock()
	defer p.list.mu.Unlock()
	p.info.State = state
}

// Sleep shows the connection as idle in database db.
func (p *Process) Sleep(db string) {
	p.list.mu.Lock()
	defer p.list.mu.Unlock()
	p.info.Command, p.info.State, p.info.Info, p.info.Since = "Sleep", "", "", time.Now()
	p.info.DB, p.interrupt = db, nil
}

// Remove takes the connection off the list.
func (p *Process) Remove() {
	p.list.mu.Lock()
	defer p.list.mu.Unlock()
	delete(p.list.live, p.info.ID)
}
