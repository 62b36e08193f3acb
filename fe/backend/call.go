package backend

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	backendv1 "shoal/proto/backend/v1"
)

// footerTries is how many backends are asked for the same footers.
const footerTries = 3

// Pick calls some backend that is alive; they take turns. Where none is, it
// waits a moment for one.
func (r *Registry) Pick(ctx context.Context) (backendv1.BackendServiceClient, error) {
	return await(ctx, r.pick)
}

// await picks a backend, and waits for one up to DeadAfter: one that has just
// started, or that a new leader has not heard yet, is a heartbeat away.
func await(ctx context.Context, pick func() (backendv1.BackendServiceClient, error)) (backendv1.BackendServiceClient, error) {
	ctx, cancel := context.WithTimeout(ctx, DeadAfter)
	defer cancel()
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		client, err := pick()
		if err == nil {
			return client, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-ticker.C:
		}
	}
}

func (r *Registry) pick() (backendv1.BackendServiceClient, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	ids := slices.Sorted(maps.Keys(r.records))
	for range ids {
		r.turn++
		if rec := r.records[ids[r.turn%len(ids)]]; rec.alive(now) {
			return rec.client, nil
		}
	}
	return nil, ErrNoBackend
}

// Probe has some backend read offsets. The request's leadership is filled in.
func (r *Registry) Probe(ctx context.Context, req *backendv1.ProbeRequest) (*backendv1.ProbeResponse, error) {
	client, err := r.pick()
	if err != nil {
		return nil, err
	}
	req.Leadership = r.leadership()
	return client.Probe(ctx, req)
}

// DeliverDeadLetters has some backend produce the messages of error rows. The
// request's leadership is filled in.
func (r *Registry) DeliverDeadLetters(ctx context.Context, req *backendv1.DeliverDeadLettersRequest) (*backendv1.DeliverDeadLettersResponse, error) {
	client, err := r.pick()
	if err != nil {
		return nil, err
	}
	req.Leadership = r.leadership()
	return client.DeliverDeadLetters(ctx, req)
}

// ReadFooters has some backend read the footers of files: an answer for each
// path, in their order. If one fails, others are asked, up to footerTries.
func (r *Registry) ReadFooters(ctx context.Context, paths []string) (footers []*backendv1.ReadFootersResponse, err error) {
	for range footerTries {
		client, none := r.Pick(ctx)
		if none != nil {
			return nil, none
		}
		if footers, err = readFooters(ctx, client, paths); err == nil || ctx.Err() != nil {
			break
		}
	}
	return footers, err
}

func readFooters(ctx context.Context, client backendv1.BackendServiceClient, paths []string) ([]*backendv1.ReadFootersResponse, error) {
	stream, err := client.ReadFooters(ctx, &backendv1.ReadFootersRequest{Paths: paths})
	if err != nil {
		return nil, err
	}
	var footers []*backendv1.ReadFootersResponse
	for {
		footer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return footers, nil
		}
		if err != nil {
			return nil, err
		}
		footers = append(footers, footer)
	}
}

// DryRun has some backend take records through a mapping.
func (r *Registry) DryRun(ctx context.Context, req *backendv1.DryRunRequest) (*backendv1.DryRunResponse, error) {
	client, err := r.Pick(ctx)
	if err != nil {
		return nil, err
	}
	return client.DryRun(ctx, req)
}

func (r *Registry) leadership() *backendv1.Leadership {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lead
}
