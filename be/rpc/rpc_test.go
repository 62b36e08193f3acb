package rpc_test

import (
	"context"
	"log/slog"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/be/executor"
	"shoal/be/rpc"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// idle is a task that waits to be cancelled.
type idle struct{}

func (idle) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (idle) Finish() {}

func (idle) Status() *backendv1.TaskStatus { return &backendv1.TaskStatus{} }

// newServer serves backend 7 with a slot.
func newServer(t *testing.T) *rpc.Server {
	t.Helper()
	tasks := executor.New(t.Context(), executor.Config{
		Slots: 1, Logger: slog.New(slog.DiscardHandler),
		Start: func(*backendv1.TaskSpec) (executor.Task, error) { return idle{}, nil },
	})
	t.Cleanup(func() {
		if err := tasks.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := &rpc.Server{}
	s.Attach(&rpc.Backend{
		ID: 7, ClusterID: "c1", Tasks: tasks, Learn: func(*backendv1.HeartbeatRequest) {}, WarehouseError: func() string { return "" },
	})
	return s
}

// TestUnfit: requests that lack what they are about are refused, and end
// nothing but themselves.
func TestUnfit(t *testing.T) {
	whole := func() *backendv1.TaskSpec {
		return &backendv1.TaskSpec{TaskId: 1, Epoch: 2, Schema: &typesv1.Schema{}, Load: &typesv1.RoutineLoad{}}
	}
	submit := func(change func(*backendv1.TaskSpec)) func(*rpc.Server) error {
		return func(s *rpc.Server) error {
			spec := whole()
			change(spec)
			_, err := s.SubmitTask(t.Context(), &backendv1.SubmitTaskRequest{Task: spec})
			return err
		}
	}
	for name, tt := range map[string]struct {
		call func(*rpc.Server) error
		want codes.Code
	}{
		"a whole task":                  {submit(func(*backendv1.TaskSpec) {}), codes.OK},
		"no schema, for several tables": {submit(func(spec *backendv1.TaskSpec) { spec.Schema, spec.Load.MultiTable = nil, true }), codes.OK},
		"no task id":                    {submit(func(spec *backendv1.TaskSpec) { spec.TaskId = 0 }), codes.InvalidArgument},
		"no epoch":                      {submit(func(spec *backendv1.TaskSpec) { spec.Epoch = 0 }), codes.InvalidArgument},
		"no schema":                     {submit(func(spec *backendv1.TaskSpec) { spec.Schema = nil }), codes.InvalidArgument},
		"no load":                       {submit(func(spec *backendv1.TaskSpec) { spec.Load = nil }), codes.InvalidArgument},
		"an empty order": {func(s *rpc.Server) error {
			_, err := s.SubmitTask(t.Context(), &backendv1.SubmitTaskRequest{})
			return err
		}, codes.InvalidArgument},
		"an empty dry run": {func(s *rpc.Server) error {
			_, err := s.DryRun(t.Context(), &backendv1.DryRunRequest{})
			return err
		}, codes.InvalidArgument},
		"nothing to cancel": {func(s *rpc.Server) error {
			_, err := s.CancelTask(t.Context(), &backendv1.CancelTaskRequest{})
			return err
		}, codes.OK},
		"a heartbeat": {func(s *rpc.Server) error {
			_, err := s.Heartbeat(t.Context(), &backendv1.HeartbeatRequest{BackendId: 7, ClusterId: "c1"})
			return err
		}, codes.OK},
		"another backend's heartbeat": {func(s *rpc.Server) error {
			_, err := s.Heartbeat(t.Context(), &backendv1.HeartbeatRequest{BackendId: 8, ClusterId: "c1"})
			return err
		}, codes.NotFound},
		"another cluster's heartbeat": {func(s *rpc.Server) error {
			_, err := s.Heartbeat(t.Context(), &backendv1.HeartbeatRequest{BackendId: 7, ClusterId: "c2"})
			return err
		}, codes.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tt.call(newServer(t)); status.Code(err) != tt.want {
				t.Errorf("answer = %v, want %v", err, tt.want)
			}
		})
	}
}

// TestNotAttached: before the backend knows its cluster it does nothing.
func TestNotAttached(t *testing.T) {
	if _, err := new(rpc.Server).Heartbeat(t.Context(), &backendv1.HeartbeatRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("Heartbeat = %v, want UNAVAILABLE", err)
	}
}
