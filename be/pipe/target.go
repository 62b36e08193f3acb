package pipe

import (
	"context"
	"time"

	"shoal/be/decode"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// target is a table that a job loads into, with what makes its rows.
type target struct {
	name    string
	table   table
	batch   *decode.Batch
	decoder *decode.Decoder
}

// newTarget compiles a table for a job.
func newTarget(t *backendv1.TaskTable, load *typesv1.RoutineLoad) (*target, error) {
	out := &target{name: t.Name}
	var err error
	if out.table, err = newTable(t.Schema); err != nil {
		return nil, err
	}
	if out.decoder, err = decode.New(t.Schema, load); err != nil {
		return nil, err
	}
	out.batch = out.decoder.NewBatch()
	return out, nil
}

// feed makes the table's rows of messages.
func (t *target) feed(ctx context.Context, from messages, tally *tally, now time.Time) rowFeed {
	t.decoder.SetNow(now)
	return &feed{ctx: ctx, target: t, messages: from, tally: tally}
}
