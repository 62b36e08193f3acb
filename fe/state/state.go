package state

import (
	"fmt"
	"slices"

	"shoal/fe/state/catalog"
	"shoal/fe/state/cluster"
	"shoal/fe/state/jobs"
	"shoal/fe/state/ledger"
	"shoal/fe/state/trash"
	frontendv1 "shoal/proto/frontend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// State is all that is replicated.
type State struct {
	applied uint64
	cluster *cluster.State
	catalog *catalog.Catalog
	jobs    *jobs.Jobs
	ledgers *ledger.Book
	trash   trash.Trash
}

// Rules is what a proposer puts into its commands: the rules that this release
// applies them by. Commands of older releases are applied by theirs:
//
//	0  files that are let go are forgotten
//	1  they are listed as trash
const Rules = 1

// New is the state before the first log entry.
func New() *State {
	return &State{cluster: new(cluster.State), catalog: catalog.New(), jobs: jobs.New(), ledgers: ledger.NewBook()}
}

// Result is what became of a command.
type Result struct {
	// Err is why the command changed nothing: a sentinel or typed error of the
	// part of the state that refused it, wrapped with names.
	Err error
	// ID is the id of what the command made or registered, if it has one.
	ID uint64
	// Txns are the answers to the txns of a CommitTxns, in its order.
	Txns []*frontendv1.CommitTxnResponse
}

// Apply carries out the log entry at index. A command that cannot be carried
// out changes nothing and says why in Result.Err, identically on every
// replica. The state keeps parts of cmd, which must not be changed afterwards;
// Apply does not change it either.
func (s *State) Apply(index uint64, cmd *raftlogv1.Command) Result {
	s.applied = index
	if _, ok := cmd.Body.(*raftlogv1.Command_Bootstrap); !ok && !s.cluster.Bootstrapped() {
		if cmd.Body == nil {
			panic(unknown(index, cmd))
		}
		return Result{Err: cluster.ErrNotBootstrapped}
	}
	switch body := cmd.Body.(type) {
	case *raftlogv1.Command_Bootstrap:
		return Result{Err: s.cluster.Bootstrap(body.Bootstrap)}
	case *raftlogv1.Command_RegisterFrontend:
		return Result{Err: s.cluster.RegisterFrontend(body.RegisterFrontend.GetFrontend(), cmd.AtMs)}
	case *raftlogv1.Command_AddFrontend:
		return Result{Err: s.cluster.AddFrontend(body.AddFrontend, cmd.AtMs)}
	case *raftlogv1.Command_DropFrontend:
		return Result{Err: s.cluster.DropFrontend(body.DropFrontend)}
	case *raftlogv1.Command_RegisterBackend:
		return made(s.cluster.RegisterBackend(body.RegisterBackend, cmd.AtMs))
	case *raftlogv1.Command_AddBackend:
		return made(s.cluster.AddBackend(body.AddBackend, cmd.AtMs))
	case *raftlogv1.Command_DecommissionBackend:
		return Result{Err: s.cluster.DecommissionBackend(body.DecommissionBackend)}
	case *raftlogv1.Command_DropBackend:
		return Result{Err: s.cluster.DropBackend(body.DropBackend, s.busy(body.DropBackend.GetBackendId()))}
	case *raftlogv1.Command_CommitTxns:
		return s.commitTxns(body.CommitTxns, entryOf(index, cmd))
	case *raftlogv1.Command_RemoveTrash:
		s.trash.Remove(body.RemoveTrash.GetPaths())
		return Result{}
	default:
		return s.applyToCatalog(index, cmd)
	}
}

// applyToCatalog carries out the commands on databases, tables and files.
func (s *State) applyToCatalog(index uint64, cmd *raftlogv1.Command) Result {
	switch body := cmd.Body.(type) {
	case *raftlogv1.Command_CreateDatabase:
		return made(s.catalog.CreateDatabase(body.CreateDatabase.GetName(), cmd.AtMs, s.cluster.NextID))
	case *raftlogv1.Command_DropDatabase:
		return Result{Err: s.dropDatabase(body.DropDatabase.GetName(), entryOf(index, cmd))}
	case *raftlogv1.Command_CreateTable:
		return made(s.createTable(body.CreateTable, cmd.AtMs))
	case *raftlogv1.Command_DropTable:
		return Result{Err: s.dropTable(body.DropTable.GetTableId(), entryOf(index, cmd))}
	case *raftlogv1.Command_RenameDatabase:
		return Result{Err: s.renameDatabase(body.RenameDatabase)}
	case *raftlogv1.Command_RenameTable:
		return Result{Err: s.renameTable(body.RenameTable)}
	case *raftlogv1.Command_AlterTable:
		return Result{Err: s.alterTable(body.AlterTable)}
	case *raftlogv1.Command_TruncateTable:
		return Result{Err: s.truncateTable(body.TruncateTable.GetTableId(), entryOf(index, cmd))}
	case *raftlogv1.Command_CreateFile:
		return made(s.catalog.CreateFile(body.CreateFile.GetFile(), s.cluster.NextID))
	case *raftlogv1.Command_DropFile:
		return Result{Err: s.catalog.DropFile(body.DropFile)}
	default:
		return s.applyToJob(index, cmd)
	}
}

// applyToJob carries out the commands on routine load jobs and their ledgers.
func (s *State) applyToJob(index uint64, cmd *raftlogv1.Command) Result {
	switch body := cmd.Body.(type) {
	case *raftlogv1.Command_CreateRoutineLoad:
		return made(s.createRoutineLoad(body.CreateRoutineLoad, cmd.AtMs))
	case *raftlogv1.Command_StartRoutineLoad:
		return Result{Err: s.startRoutineLoad(body.StartRoutineLoad, index)}
	case *raftlogv1.Command_AlterRoutineLoad:
		return Result{Err: s.alterRoutineLoad(body.AlterRoutineLoad, index)}
	case *raftlogv1.Command_ChangeJobState:
		return Result{Err: s.jobs.ChangeState(body.ChangeJobState, cmd.AtMs, s.cluster.NextID)}
	case *raftlogv1.Command_ScheduleTasks:
		return Result{Err: s.scheduleTasks(body.ScheduleTasks, cmd.AtMs)}
	case *raftlogv1.Command_RemoveJob:
		return Result{Err: s.removeJob(body.RemoveJob.GetJobId(), entryOf(index, cmd))}
	case *raftlogv1.Command_AddLedgers:
		return Result{Err: s.addLedgers(body.AddLedgers, index)}
	case *raftlogv1.Command_SettleOffsets:
		return Result{Err: s.settleOffsets(body.SettleOffsets, index)}
	case *raftlogv1.Command_ForgetVoids:
		return Result{Err: s.forgetVoids(body.ForgetVoids)}
	case *raftlogv1.Command_DeadLettersDelivered:
		return Result{Err: s.jobs.DeadLettersDelivered(body.DeadLettersDelivered)}
	default:
		panic(unknown(index, cmd))
	}
}

// unknown is what to say of an entry that a newer leader wrote.
func unknown(index uint64, cmd *raftlogv1.Command) string {
	return fmt.Sprintf("state: log entry %d has a body that this release does not know (%T, unknown fields %x): run the release that the other frontends run",
		index, cmd.Body, []byte(cmd.ProtoReflect().GetUnknown()))
}

// busy tells whether a task has the backend.
func (s *State) busy(backendID uint64) bool {
	has := func(t *raftlogv1.Task) bool { return t.BackendId == backendID }
	return slices.ContainsFunc(s.jobs.All(), func(job *raftlogv1.Job) bool { return slices.ContainsFunc(job.Tasks, has) })
}

func made(id uint64, err error) Result { return Result{ID: id, Err: err} }

// Applied is the index of the last log entry that was applied.
func (s *State) Applied() uint64 { return s.applied }
