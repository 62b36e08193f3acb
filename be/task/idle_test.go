package task

import (
	"context"
	"log/slog"
	"time"

	"shoal/be/source"
)

var discard = slog.New(slog.DiscardHandler)

// idle is a Source that brings nothing.
type idle struct{}

func (idle) Fetch(context.Context, source.Limits) (source.Fetch, error) { return source.Fetch{}, nil }
func (idle) Acknowledge(context.Context, []source.Ack) ([]source.AckResult, time.Time) {
	return nil, time.Time{}
}
func (idle) QueueAcks([]source.Ack)                   {}
func (idle) Close(context.Context) []source.AckResult { return nil }
func (idle) Assigned() []source.PartitionID           { return nil }
func (idle) ID() string                               { return "m" }
