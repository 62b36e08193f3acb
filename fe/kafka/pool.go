package kafka

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	typesv1 "shoal/proto/types/v1"
)

// Open gives what a load's stored property.* stand for on this frontend:
// properties with their secrets in plain text, and the contents of the uploaded
// files that they name. It is called each time that a client is asked for.
type Open func(databaseID uint64, load *typesv1.RoutineLoad) (properties map[string]string, files map[string][]byte, err error)

// Plain is the Open of properties that are stored as they are.
func Plain(_ uint64, load *typesv1.RoutineLoad) (map[string]string, map[string][]byte, error) {
	return load.CustomProperties, nil, nil
}

// A Pool makes clients and keeps one for each job, so that what looks at a job each
// second reuses its connections. It is safe for concurrent use; the clients
// that it gives are closed by Retain and Close only.
type Pool struct {
	open Open
	opts []kgo.Opt

	mu      sync.Mutex
	clients map[uint64]pooled // by job id; nil once closed
}

type pooled struct {
	client     *Client
	brokers    []string
	properties map[string]string
	files      map[string][]byte
}

// NewPool makes an empty pool. The options are added to every client; tests
// set a dialer.
func NewPool(log *slog.Logger, open Open, opts ...kgo.Opt) *Pool {
	opts = append([]kgo.Opt{kgo.WithLogger(clientLog{log})}, opts...)
	return &Pool{open: open, opts: opts, clients: make(map[uint64]pooled)}
}

// clientLog takes the client's own words. They are details: whatever concerns
// people comes as an error as well.
type clientLog struct{ log *slog.Logger }

// Level implements kgo.Logger.
func (clientLog) Level() kgo.LogLevel { return kgo.LogLevelWarn }

// Log implements kgo.Logger.
func (l clientLog) Log(_ kgo.LogLevel, msg string, keyvals ...any) {
	l.log.Log(context.Background(), slog.LevelDebug, "kafka client: "+msg, keyvals...)
}

// Open is what a load's stored properties stand for, for backends to work by.
func (p *Pool) Open(databaseID uint64, load *typesv1.RoutineLoad) (properties map[string]string, files map[string][]byte, err error) {
	return p.open(databaseID, load)
}

// Dial makes a client for a load in a database. The caller closes it.
func (p *Pool) Dial(databaseID uint64, load *typesv1.RoutineLoad) (*Client, error) {
	properties, files, err := p.open(databaseID, load)
	if err != nil {
		return nil, err
	}
	return Dial(load.Brokers, properties, files, p.opts...)
}

// Client is the client for a job with this load; a change of its brokers,
// properties or files makes a new one.
func (p *Pool) Client(jobID, databaseID uint64, load *typesv1.RoutineLoad) (*Client, error) {
	properties, files, err := p.open(databaseID, load)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients == nil {
		return nil, ErrUnreachable
	}
	have, ok := p.clients[jobID]
	if ok && slices.Equal(have.brokers, load.Brokers) && maps.Equal(have.properties, properties) && maps.EqualFunc(have.files, files, bytes.Equal) {
		return have.client, nil
	}
	client, err := Dial(load.Brokers, properties, files, p.opts...)
	if err != nil {
		return nil, err
	}
	if ok {
		have.client.Close()
	}
	p.clients[jobID] = pooled{client, load.Brokers, properties, files}
	return client, nil
}

// Retain closes the clients of all jobs but those that keep names.
func (p *Pool) Retain(keep func(jobID uint64) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, have := range p.clients {
		if !keep(id) {
			have.client.Close()
			delete(p.clients, id)
		}
	}
}

// Close closes all clients; the pool gives no more.
func (p *Pool) Close() {
	p.Retain(func(uint64) bool { return false })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients = nil
}
