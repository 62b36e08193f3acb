package bench

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/be/share"
	"shoal/be/source"
)

// fetchLimits are a task's.
var fetchLimits = source.Limits{MaxRecords: 1_000_000, MaxBytes: 50 << 20, MaxWait: 500 * time.Millisecond}

// A pace turns a count that grows into a rate: what came after the first, by
// the time since then. So joining the group is left out.
type pace struct {
	mu          sync.Mutex
	first, all  int
	began, last time.Time
}

// reach takes in that n rows in all are done now.
func (p *pace) reach(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(n - p.all)
}

// add takes in that n more rows are done now.
func (p *pace) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance(n)
}

func (p *pace) advance(n int) {
	if n == 0 {
		return
	}
	p.last = time.Now()
	p.all += n
	if p.began.IsZero() {
		p.began, p.first = p.last, n
	}
}

func (p *pace) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// rate is in rows per second.
func (p *pace) rate() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return float64(p.all-p.first) / p.last.Sub(p.began).Seconds()
}

// consume measures the share source alone: fetch, decode the batches, accept.
func consume(tb testing.TB, t *topic, members int) float64 {
	tb.Helper()
	group := t.group(tb)
	var p pace
	ctx, cancel := context.WithTimeout(tb.Context(), 5*time.Minute)
	defer cancel()
	failures := make(chan error, members)
	for range members {
		go func() { failures <- consumeAs(ctx, t, group, &p) }()
	}
	for range members {
		if err := <-failures; err != nil {
			tb.Error(err)
		}
	}
	if got := p.count(); got != t.rows {
		tb.Errorf("%d records were consumed, want %d", got, t.rows)
	}
	return p.rate()
}

// consumeAs is one member, until all rows are consumed.
func consumeAs(ctx context.Context, t *topic, group string, p *pace) error {
	client, err := kgo.NewClient(append(share.ClientOptions(), kgo.SeedBrokers(t.broker.Addr()))...)
	if err != nil {
		return err
	}
	defer client.Close()
	m := share.New(share.Config{Client: client, Group: group, Topic: t.name, Logger: slog.New(slog.DiscardHandler)})
	left := make(chan error, 1)
	go func() { left <- m.Run(ctx) }()
	for p.count() < t.rows && err == nil {
		var f source.Fetch
		f, err = m.Fetch(ctx, fetchLimits)
		if errors.Is(err, share.ErrNotAssigned) {
			err = nil
		}
		for i := range f.Partitions {
			part := &f.Partitions[i]
			m.QueueAcks(source.Acks(part.ID(), part.Acquired, source.Accept))
		}
		p.add(f.Records())
	}
	m.Close(ctx)
	return errors.Join(err, <-left)
}
