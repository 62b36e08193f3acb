package deadletter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/be/client"
)

const (
	// batchBytes is what brokers take of one batch unless they are told
	// otherwise, with a little to spare.
	batchBytes = 1_000_000
	// largeBytes bounds a message that is a batch of its own. Whether the topic
	// takes it is for its max.message.bytes to say.
	largeBytes    = 64 << 20
	bufferedBytes = 16 << 20
	// giveUp is how long a record may wait for brokers that do not answer.
	giveUp = 15 * time.Second
)

// producer produces records in order, as many at a time as fit into a few
// batches. A record that is too large for a batch with others goes alone.
type producer struct {
	small    *kgo.Client
	large    *kgo.Client
	produced int64

	mu  sync.Mutex
	err error // the first that a record failed with
}

func newProducer(ctx context.Context, place client.Place, id, topic string) (*producer, error) {
	open := func(batch int32) (*kgo.Client, error) {
		return client.New(place, id, kgo.WithContext(ctx), kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.AllISRAcks()),
			kgo.ProducerBatchMaxBytes(batch), kgo.MaxBufferedBytes(max(bufferedBytes, int(batch))), kgo.RecordDeliveryTimeout(giveUp))
	}
	small, err := open(batchBytes)
	if err != nil {
		return nil, err
	}
	large, err := open(largeBytes)
	if err != nil {
		small.Close()
		return nil, err
	}
	return &producer{small: small, large: large}, nil
}

func (p *producer) close() {
	p.small.Close()
	p.large.Close()
}

// produce takes a record; nil is none. It waits while too much is on its way.
func (p *producer) produce(ctx context.Context, r *kgo.Record) error {
	if r == nil {
		return nil
	}
	p.produced++
	if size(r) < batchBytes {
		p.small.Produce(ctx, r, p.done)
		return p.failure()
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	p.done(r, p.large.ProduceSync(ctx, r).FirstErr())
	return p.failure()
}

// size is about what a record takes of a batch.
func size(r *kgo.Record) int {
	n := len(r.Key) + len(r.Value) + 128
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value) + 10
	}
	return n
}

// flush waits until all records are acknowledged.
func (p *producer) flush(ctx context.Context) error {
	if err := p.small.Flush(ctx); err != nil {
		return err
	}
	return p.failure()
}

// done notes the first record that could not be produced.
func (p *producer) done(r *kgo.Record, err error) {
	switch {
	case err == nil:
		return
	case errors.Is(err, kerr.MessageTooLarge):
		err = fmt.Errorf("the topic takes no message of %d bytes; raise its max.message.bytes: %w", size(r), err)
	case errors.Is(err, kgo.ErrRecordTimeout):
		err = fmt.Errorf("no broker took a message within %v: %w", giveUp, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

func (p *producer) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
