package stmt_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"shoal/fe/membership"
	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// register has a backend come: its node id, host and port are the arguments.
func (s *script) register(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	port, err := strconv.ParseUint(d.CmdArgs[2].Key, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	applied, err := s.store.Propose(t.Context(), &raftlogv1.Command{Body: &raftlogv1.Command_RegisterBackend{RegisterBackend: &raftlogv1.RegisterBackend{
		ByAddress: true, Backend: &raftlogv1.Backend{NodeUuid: d.CmdArgs[0].Key, Host: d.CmdArgs[1].Key, RpcPort: uint32(port)}}}})
	switch {
	case err != nil:
		t.Fatal(err)
	case applied.Err != nil:
		return applied.Err.Error() + "\n"
	}
	return fmt.Sprintf("backend %d\n", applied.ID)
}

// assign moves the task of the one job, which is made if there is none.
func (s *script) assign(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	backend, err := strconv.ParseUint(d.CmdArgs[0].Key, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*raftlogv1.Job
	s.store.View(func(st *state.State) { jobs = st.Jobs() })
	if len(jobs) == 0 {
		db := s.store.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "jobs"}}}).ID
		table := s.store.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
			DatabaseId: db, Name: "t", Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{{Name: "a", Type: "int"}}}}}}}}).ID
		job := s.store.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{GroupPrefix: "g-", Job: &raftlogv1.Job{
			DatabaseId: db, Name: "j", TableId: table, Load: &typesv1.RoutineLoad{}}}}}).ID
		s.store.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_StartRoutineLoad{StartRoutineLoad: &raftlogv1.StartRoutineLoad{JobId: job}}})
		s.store.View(func(st *state.State) { jobs = st.Jobs() })
	}
	assignment := &raftlogv1.TaskAssignment{BackendId: backend}
	if len(jobs[0].Tasks) > 0 {
		assignment.TaskId = jobs[0].Tasks[0].Id
	}
	s.store.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_ScheduleTasks{ScheduleTasks: &raftlogv1.ScheduleTasks{
		JobId: jobs[0].Id, Assignments: []*raftlogv1.TaskAssignment{assignment}}}})
	return ""
}

// members are the frontends as the state has them: fe1:9010 leads, and without
// fe2:9010 there is no majority.
type members struct{ store *memoryStore }

func (m members) Add(ctx context.Context, role raftlogv1.FrontendRole, host string, port uint32) error {
	applied, err := m.store.Propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_AddFrontend{
		AddFrontend: &raftlogv1.AddFrontend{Host: host, RaftPort: port, Role: role}}})
	return errors.Join(err, applied.Err)
}

func (m members) Drop(ctx context.Context, role raftlogv1.FrontendRole, host string, port uint32) error {
	switch host {
	case "fe1":
		return fmt.Errorf("%w fe1:9010", membership.ErrLeads)
	case "fe2":
		return membership.ErrMajority
	case "cut.off":
		return errors.New("leadership was lost")
	}
	applied, err := m.store.Propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_DropFrontend{
		DropFrontend: &raftlogv1.DropFrontend{Host: host, RaftPort: port, Role: role}}})
	return errors.Join(err, applied.Err)
}

// members is who belongs to the cluster, as the state has it.
func (s *script) members() string {
	var b strings.Builder
	s.store.View(func(st *state.State) {
		for _, be := range st.Backends() {
			fmt.Fprintf(&b, "backend %d at %s:%d", be.Id, be.Host, be.RpcPort)
			for text, is := range map[string]bool{" dropped": be.Dropped, " decommissioning": be.Decommissioning} {
				if is {
					b.WriteString(text)
				}
			}
			b.WriteString("\n")
		}
		for _, f := range st.AddedFrontends() {
			fmt.Fprintf(&b, "%v at %s:%d awaited\n", f.Role, f.Host, f.RaftPort)
		}
	})
	return b.String()
}
