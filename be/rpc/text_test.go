package rpc_test

import (
	"context"
	"log/slog"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"shoal/be/executor"
	"shoal/be/rpc"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// troubled is a task that tells of bytes which are no text, as an error may have
// them.
type troubled struct{ idle }

func (troubled) Status() *backendv1.TaskStatus {
	return &backendv1.TaskStatus{Trouble: "open /certs/m\xfcller.pem: no such file", MemberId: "m"}
}

// noText answers with such bytes too.
type noText struct{}

func (noText) ReadRecords(context.Context, *backendv1.ReadRecordsRequest) (*backendv1.ReadRecordsResponse, error) {
	headers := []*backendv1.Header{{Name: "name", Value: []byte("\xfc")}, {Name: "gr\xfc\xdfe"}}
	return &backendv1.ReadRecordsResponse{Records: []*backendv1.KafkaRecord{{Headers: headers}}}, nil
}

func (noText) DryRun(context.Context, *backendv1.DryRunRequest) (*backendv1.DryRunResponse, error) {
	return &backendv1.DryRunResponse{Rows: []*backendv1.DryRunRow{{Reason: "no number: \xfc"}}}, nil
}

func (noText) ReadFooters(_ context.Context, _ []string, send func(*backendv1.ReadFootersResponse) error) error {
	return send(&backendv1.ReadFootersResponse{Error: "\xfc", Metadata: map[string]string{"shoal.label": "\xfc", "shoal.\xfc": ""}})
}

// sent keeps what a stream is to send.
type sent struct {
	grpc.ServerStreamingServer[backendv1.ReadFootersResponse]
	ctx  context.Context
	last *backendv1.ReadFootersResponse
}

func (s *sent) Context() context.Context { return s.ctx }

func (s *sent) Send(r *backendv1.ReadFootersResponse) error {
	s.last = r
	return nil
}

// TestNoText: bytes that are no text fail no answer. A backend whose heartbeats
// failed for what they tell would be dead, and the next one that has its tasks.
func TestNoText(t *testing.T) {
	tasks := executor.New(t.Context(), executor.Config{Slots: 1, Logger: slog.New(slog.DiscardHandler),
		Start: func(*backendv1.TaskSpec) (executor.Task, error) { return troubled{}, nil }})
	t.Cleanup(func() {
		if err := tasks.Drain(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := &rpc.Server{}
	s.Attach(&rpc.Backend{ID: 7, Tasks: tasks, Reads: noText{}, DryRuns: noText{}, Footers: noText{},
		Learn: func(*backendv1.HeartbeatRequest) {}, WarehouseError: func() string { return "\xfc" }})
	spec := &backendv1.TaskSpec{TaskId: 1, Epoch: 2}
	if err := tasks.Submit(nil, spec); err != nil {
		t.Fatal(err)
	}
	beat, err := s.Heartbeat(t.Context(), &backendv1.HeartbeatRequest{BackendId: 7, Tasks: []*backendv1.TaskRef{{TaskId: 1, Epoch: 2}}})
	wantMessage(t, beat, err)
	if want := "open /certs/m\uFFFDller.pem: no such file"; beat.Tasks[0].Trouble != want || beat.Tasks[0].MemberId != "m" || beat.WarehouseError != "\uFFFD" {
		t.Errorf("the heartbeat tells %v, want %q", beat, want)
	}
	records, err := s.ReadRecords(t.Context(), &backendv1.ReadRecordsRequest{})
	wantMessage(t, records, err)
	if h := records.Records[0].Headers; h[0].Name != "name" || string(h[0].Value) != "\xfc" {
		t.Errorf("headers %v", h)
	}
	rows, err := s.DryRun(t.Context(), &backendv1.DryRunRequest{Task: &backendv1.TaskSpec{Load: &typesv1.RoutineLoad{MultiTable: true}}})
	wantMessage(t, rows, err)
	stream := &sent{ctx: t.Context()}
	err = s.ReadFooters(&backendv1.ReadFootersRequest{}, stream)
	wantMessage(t, stream.last, err)
}

// wantMessage wants a message that can be sent.
func wantMessage(t *testing.T, m proto.Message, err error) {
	t.Helper()
	if err == nil {
		_, err = proto.Marshal(m)
	}
	if err != nil {
		t.Errorf("%T: %v", m, err)
	}
}
