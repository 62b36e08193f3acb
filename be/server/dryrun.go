package server

import (
	"context"
	"log/slog"

	"shoal/be/classic"
	"shoal/be/client"
	"shoal/be/dryrun"
	backendv1 "shoal/proto/backend/v1"
)

// dryRunner answers DryRun requests.
type dryRunner struct {
	runner *dryrun.Runner
	logger *slog.Logger
}

// DryRun implements rpc.DryRunner: what it loads is read as in classic mode,
// whatever the job's is, since a group would remember it.
func (d dryRunner) DryRun(ctx context.Context, req *backendv1.DryRunRequest) (*backendv1.DryRunResponse, error) {
	load := req.Task.GetLoad()
	starts, err := classicStarts(req.Task.GetPartitions())
	if err != nil {
		return nil, err
	}
	place := client.Place{Brokers: load.GetBrokers(), Properties: load.GetCustomProperties(), Files: req.Task.GetFiles()}
	cl, err := client.New(place, "shoal-dry-run", classic.ClientOptions()...)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	parts, err := classic.Preview(ctx, classic.Config{Client: cl, Topic: load.GetTopic(), Starts: starts,
		Uncommitted: load.GetReadUncommitted(), SkipExpired: true, Logger: d.logger}, int(req.Limit))
	if err != nil {
		return nil, err
	}
	return d.runner.Run(ctx, req.Task, parts)
}
