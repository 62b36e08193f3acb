package routineload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"shoal/fe/errno"
	"shoal/fe/kafka"
	"shoal/fe/loaddef"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
)

// Alter carries out ALTER ROUTINE LOAD, on PAUSED jobs only. What concerns the
// broker is checked and resolved there before anything is changed; then the
// definition is replaced as a whole, with new starts for the partitions that
// move. RESUME goes on by it.
func (m *Manager) Alter(ctx context.Context, s *session.Session, stmt *ast.AlterRoutineLoad) error {
	for {
		err := m.alter(ctx, s, stmt)
		// Another ALTER came between: what it made is altered.
		if !errors.Is(err, jobs.ErrMovedOn) || ctx.Err() != nil {
			return err
		}
	}
}

func (m *Manager) alter(ctx context.Context, s *session.Session, stmt *ast.AlterRoutineLoad) error {
	job, err := m.operable(s, stmt.Job)
	if err != nil {
		return err
	}
	if err := alterable(job, stmt); err != nil {
		return err
	}
	table, err := m.alteredTarget(job, stmt.TargetTable)
	if err != nil {
		return err
	}
	have, err := m.cfg.Secrets.Unseal(job.Load)
	if err != nil {
		return brokerError("Failed to alter the routine load job "+job.Name, err)
	}
	def, err := loaddef.Alter(have, stmt, target(table), s.Location().String())
	if err != nil {
		return err
	}
	needsBroker := def.NeedsBroker(have)
	if def.Load, err = m.cfg.Secrets.Seal(def.Load); err != nil {
		return brokerError("Failed to alter the routine load job "+job.Name, err)
	}
	command := &raftlogv1.AlterRoutineLoad{JobId: job.Id, Load: def.Load}
	if id := table.GetId(); id != job.TableId {
		command.TableId = id
	}
	if needsBroker {
		if err := m.resolveAlter(ctx, job, def, command); err != nil {
			return brokerError("Failed to alter the routine load job "+job.Name, err)
		}
	}
	if err := m.proposeFor(ctx, job, &raftlogv1.Command{Body: &raftlogv1.Command_AlterRoutineLoad{AlterRoutineLoad: command}}); err != nil {
		return alterError(err)
	}
	warn(s, def)
	return nil
}

// alterable refuses what can be seen without looking at the definition.
func alterable(job *raftlogv1.Job, stmt *ast.AlterRoutineLoad) error {
	switch {
	case job.State != raftlogv1.JobState_JOB_STATE_PAUSED:
		return refuse("Only supports modification of PAUSED jobs; %s is %s", job.Name, jobs.StateName(job.State))
	case !job.Started:
		return refuse("Routine load job %s is not started yet", job.Name)
	case stmt.TargetTable != "" && job.Load.MultiTable:
		return refuse("SET TARGET TABLE is for jobs of one table; %s has no ON", job.Name)
	case stmt.TargetTable == "" && stmt.Load.Empty() && len(stmt.Properties) == 0 && (stmt.Source == nil || len(stmt.Source.Properties) == 0):
		return refuse("No properties are specified")
	}
	return nil
}

// alteredTarget is the table that a job loads into from now on: the one of that
// name in its database, or its own.
func (m *Manager) alteredTarget(job *raftlogv1.Job, name string) (table *raftlogv1.Table, err error) {
	if job.Load.MultiTable {
		return nil, nil
	}
	m.cfg.Store.View(func(st *state.State) {
		if table = st.TableByID(job.TableId); name != "" {
			table = st.Table(job.DatabaseId, name)
		}
	})
	if table == nil {
		if name == "" {
			name = job.TableName
		}
		return nil, errno.New(errno.UnknownTable, "Unknown table '%s' in database '%s'", name, job.DatabaseName)
	}
	return table, nil
}

// resolveAlter checks a definition at the broker, and fills in where partitions
// begin anew and how the share group is set up.
func (m *Manager) resolveAlter(ctx context.Context, job *raftlogv1.Job, def *loaddef.Definition, command *raftlogv1.AlterRoutineLoad) error {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	client, err := m.cfg.Kafka.Dial(job.DatabaseId, def.Load)
	if err != nil {
		return err
	}
	defer client.Close()
	topic, err := checkTopics(ctx, client, def)
	if err != nil {
		return err
	}
	read := m.partitionsOf(job, topic)
	command.ReplaceLedgers = def.Load.Topic != job.Load.Topic || len(read) == 0 && def.Offsets != nil
	if !command.ReplaceLedgers && len(read) == 0 {
		def.Notes = append(def.Notes, fmt.Sprintf("topic '%s' is not the one that the job has read so far, its id is another: the job reads it from its beginning", topic.Name))
	}
	if command.ReplaceLedgers || def.Offsets != nil {
		if err := checkMoved(read, def, topic, command.ReplaceLedgers); err != nil {
			return err
		}
		if command.Starts, err = resolve(ctx, client, def, topic); err != nil {
			return err
		}
	}
	if !isShare(def.Load) {
		return nil
	}
	settings, err := configure(ctx, client, def.Load)
	command.LockDurationMs, command.Note = settings.Lock.Milliseconds(), strings.Join(settings.Notes, "; ")
	return err
}

// partitionsOf is the partitions of a topic that the job has ledgers of.
func (m *Manager) partitionsOf(job *raftlogv1.Job, topic kafka.Topic) (read []int32) {
	m.cfg.Store.View(func(st *state.State) {
		for _, l := range st.Ledgers(job.Id) {
			if kafka.TopicID(l.TopicID) == topic.ID {
				read = append(read, l.Partition)
			}
		}
	})
	return read
}

// checkMoved refuses to move partitions that the job does not read, and on
// another topic a share group that would begin at some offsets only.
func checkMoved(read []int32, def *loaddef.Definition, topic kafka.Topic, another bool) error {
	if another {
		return checkAll(def, topic)
	}
	for _, p := range slices.Sorted(maps.Keys(def.Offsets)) {
		if !slices.Contains(read, p) {
			return fmt.Errorf("the partition %d is not in the progress of the job, which has %s", p, strings.Trim(fmt.Sprint(slices.Sorted(slices.Values(read))), "[]"))
		}
	}
	return nil
}

// alterError is a refusal of the state machine in words for the client.
func alterError(err error) error {
	switch {
	case errors.Is(err, jobs.ErrNotPaused):
		return refuse("Only supports modification of PAUSED jobs: %v", err)
	case errors.Is(err, jobs.ErrGroupInUse):
		return refuse("property.group.id: %v", err)
	case errors.Is(err, jobs.ErrMovedOn), errors.Is(err, jobs.ErrNoJob), errors.Is(err, catalog.ErrNoTable), errors.Is(err, catalog.ErrNoDatabase):
		return errno.Wrap(errno.Unknown, err, "errCode = 2, detailMessage = the job has changed meanwhile; look and try again")
	}
	return err
}
