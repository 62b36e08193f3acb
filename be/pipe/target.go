package pipe

import (
	"context"
	"time"

	"shoal/be/decode"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// target is a table that a job loads into, with what makes its rows: a decoder,
// or a mapping where the job has expressions.
type target struct {
	name    string
	table   table
	batch   *decode.Batch
	decoder *decode.Decoder
	mapping *mapping
	watch   func(*backendv1.DryRunRow) // with a mapping; nil for nobody
}

// newTarget compiles a table for a job.
func newTarget(ctx context.Context, cfg Config, t *backendv1.TaskTable) (*target, error) {
	out := &target{name: t.Name, watch: cfg.Watch}
	load := cfg.Spec.Load
	var err error
	if out.table, err = newTable(t.Schema); err != nil {
		return nil, err
	}
	if hasExpressions(load) || cfg.Watch != nil {
		if out.mapping, err = newMapping(ctx, cfg.Engine, t.Schema, load); err != nil {
			return nil, err
		}
		out.batch = out.mapping.converter.NewBatch()
		return out, nil
	}
	if out.decoder, err = decode.New(t.Schema, load); err != nil {
		return nil, err
	}
	out.batch = out.decoder.NewBatch()
	return out, nil
}

// hasExpressions tells whether a job's rows need a mapping.
func hasExpressions(load *typesv1.RoutineLoad) bool {
	for _, c := range load.LoadColumns {
		if c.Expr != "" {
			return true
		}
	}
	return load.PrecedingFilter != "" || load.Where != ""
}

// feed makes the table's rows of messages.
func (t *target) feed(ctx context.Context, from messages, tally *tally, now time.Time) (rowFeed, error) {
	if t.mapping == nil {
		t.decoder.SetNow(now)
		return &feed{ctx: ctx, target: t, messages: from, tally: tally}, nil
	}
	if err := t.mapping.setNow(ctx, now); err != nil {
		return nil, err
	}
	return &mappedFeed{ctx: ctx, target: t, mapping: t.mapping, messages: from, tally: tally}, nil
}

// close gives back what a mapping holds.
func (t *target) close() error {
	if t.mapping == nil {
		return nil
	}
	return t.mapping.close()
}
