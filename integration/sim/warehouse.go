package sim

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"shoal/be/source"
	"shoal/be/task"
	"shoal/internal/offsets"
	"shoal/internal/rowsetname"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	typesv1 "shoal/proto/types/v1"
)

// partitions is how many a universe has at most.
const partitions = 2

// A file is a rowset or an error rowset.
type file struct {
	path string
	from [partitions]offsets.Set // where its rows came from, by partition
	// unsynced is the process that has not synced it yet, with which it may
	// vanish; nil once it is durable.
	unsynced *process
}

// A warehouse is files by path.
type warehouse map[string]*file

// lose is the crash of a machine: what its process had not synced may be gone.
func (s *Sim) lose(proc *process) {
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if s.files[path].unsynced == proc && s.w.chance(0.8) {
			delete(s.files, path)
			s.check.stats.add(LostFiles)
		}
	}
}

// What a record becomes, by its offset.
func isError(o int64) bool    { return o%11 == 5 }
func isFiltered(o int64) bool { return o%13 == 7 }

var errFull = errors.New("no space left in the warehouse")

// errExists is be/warehouse's: no name is given twice.
var errExists = errors.New("a file of that name exists")

// A pipe is the model of be/pipe.
type pipe struct {
	s    *Sim
	b    *backend
	proc *process
	spec *backendv1.TaskSpec
}

// Ready knows of a full warehouse as soon as anybody does.
func (p *pipe) Ready() error {
	if p.s.w.now.Before(p.s.refusesUntil) {
		return errFull
	}
	return nil
}

// Write takes time, may fail, and may leave a file behind either way.
func (p *pipe) Write(ctx context.Context, number uint64, _ string, parts []source.Partition) (task.Written, error) {
	s := p.s
	s.w.Wait(ctx, nil, s.w.now.Add(s.w.between(0, s.writes)))
	if ctx.Err() != nil {
		return task.Written{}, ctx.Err()
	}
	if s.w.now.Before(s.refusesUntil) {
		return task.Written{}, errFull
	}
	var rows, bad [partitions]offsets.Set
	w := task.Written{Counters: &typesv1.Counters{}}
	for _, part := range parts {
		for _, r := range part.Records {
			w.Counters.TotalRows++
			at := offsets.Of(offsets.Range{First: r.Offset, Last: r.Offset})
			_, poison := part.Poison[r.Offset]
			if !poison && s.cfg.poisonous(part.Partition, r.Offset) {
				s.check.stats.add(Poisoned)
				p.b.crash(s.w.between(0, 5*time.Second))
				s.w.live()
			}
			switch {
			case poison || isError(r.Offset):
				w.Counters.ErrorRows++
				bad[part.Partition] = bad[part.Partition].Union(at)
				w.Samples = append(w.Samples, &frontendv1.ErrorSample{Partition: part.Partition, Offset: r.Offset})
			case isFiltered(r.Offset):
				w.Counters.UnselectedRows++
			default:
				w.Counters.LoadedRows++
				rows[part.Partition] = rows[part.Partition].Union(at)
			}
		}
	}
	var err error
	if w.Rowset, err = p.store(number, false, rows, w.Counters.LoadedRows); err != nil {
		return task.Written{}, err
	}
	if w.ErrorRowset, err = p.store(number, true, bad, w.Counters.ErrorRows); err != nil {
		return task.Written{}, err
	}
	s.w.tell("writes number %d of task %d epoch %d: %v %v", number, p.spec.TaskId, p.spec.Epoch, rows, bad)
	if s.cfg.Mutation != UnsyncedFiles {
		s.w.Wait(ctx, nil, s.w.now.Add(syncTime))
	}
	p.b.at(Written)
	return w, ctx.Err()
}

// syncTime is how long a file is not durable yet.
const syncTime = 20 * time.Millisecond

func (p *pipe) store(number uint64, errors bool, from [partitions]offsets.Set, rows int64) (*typesv1.Rowset, error) {
	s := p.s
	if rows == 0 {
		return nil, nil
	}
	path := rowsetname.Name{
		Table: p.spec.TableId, Incarnation: p.spec.Incarnation, Job: p.spec.JobId, Task: p.spec.TaskId, Epoch: p.spec.Epoch, Number: number, Errors: errors,
	}.String()
	if s.files[path] != nil && s.cfg.Mutation != OverwriteFiles {
		return nil, errExists
	}
	f := &file{path: path, from: from, unsynced: p.proc}
	s.files[path] = f
	s.w.after(p.proc, syncTime, func() { f.unsynced = nil })
	return &typesv1.Rowset{Path: path, Rows: rows, Bytes: 100 * rows, SchemaVersion: 1}, nil
}
