package kafka

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	typesv1 "shoal/proto/types/v1"
)

// A Pool makes clients and keeps one for each job, so that what looks at a job each
// second reuses its connections. It is safe for concurrent use; the clients
// that it gives are closed by Retain and Close only.
type Pool struct {
	opts []kgo.Opt

	mu      sync.Mutex
	clients map[uint64]pooled // by job id; nil once closed
}

type pooled struct {
	client     *Client
	brokers    []string
	properties map[string]string
}

// NewPool makes an empty pool. The options are added to every client; tests
// set a dialer.
func NewPool(log *slog.Logger, opts ...kgo.Opt) *Pool {
	opts = append([]kgo.Opt{kgo.WithLogger(clientLog{log})}, opts...)
	return &Pool{opts: opts, clients: make(map[uint64]pooled)}
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

// Dial makes a client that the caller closes.
func (p *Pool) Dial(load *typesv1.RoutineLoad) (*Client, error) {
	return Dial(load.Brokers, load.CustomProperties, p.opts...)
}

// Client is the client for a job with this load; a change of its brokers or
// properties makes a new one.
func (p *Pool) Client(jobID uint64, load *typesv1.RoutineLoad) (*Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.clients == nil {
		return nil, ErrUnreachable
	}
	have, ok := p.clients[jobID]
	if ok && slices.Equal(have.brokers, load.Brokers) && maps.Equal(have.properties, load.CustomProperties) {
		return have.client, nil
	}
	client, err := p.Dial(load)
	if err != nil {
		return nil, err
	}
	if ok {
		have.client.Close()
	}
	p.clients[jobID] = pooled{client, load.Brokers, load.CustomProperties}
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
