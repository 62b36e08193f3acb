package sim

import (
	"context"
	"errors"

	"shoal/be/source"
	"shoal/be/task"
	"shoal/internal/offsets"
	frontendv1 "shoal/proto/frontend/v1"
	typesv1 "shoal/proto/types/v1"
)

// A file is a rowset or an error rowset: the offsets by partition that its
// rows came from.
type file [2]offsets.Set

// A warehouse is files by path.
type warehouse map[string]*file

// What a record becomes, by its offset.
func isError(o int64) bool    { return o%11 == 5 }
func isFiltered(o int64) bool { return o%13 == 7 }

var errFull = errors.New("no space left in the warehouse")

// errExists is be/warehouse's: no name is given twice.
var errExists = errors.New("a file of that name exists")

// A pipe is the model of be/pipe.
type pipe struct{ s *Sim }

// Ready knows of a full warehouse as soon as anybody does.
func (p *pipe) Ready() error {
	if p.s.w.now.Before(p.s.refusesUntil) {
		return errFull
	}
	return nil
}

// Write takes time, may fail, and may leave a file behind either way.
func (p *pipe) Write(ctx context.Context, _ uint64, label string, parts []source.Partition) (task.Written, error) {
	s := p.s
	s.w.Wait(ctx, nil, s.w.now.Add(s.w.between(0, s.writes)))
	if ctx.Err() != nil {
		return task.Written{}, ctx.Err()
	}
	if s.w.now.Before(s.refusesUntil) {
		return task.Written{}, errFull
	}
	rows, bad := &file{}, &file{}
	w := task.Written{Counters: &typesv1.Counters{}}
	for _, part := range parts {
		for _, r := range part.Records {
			w.Counters.TotalRows++
			at := offsets.Of(offsets.Range{First: r.Offset, Last: r.Offset})
			switch {
			case isError(r.Offset):
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
	if w.Rowset, err = s.store(label+".parquet", rows, w.Counters.LoadedRows); err != nil {
		return task.Written{}, err
	}
	if w.ErrorRowset, err = s.store(label+"-errors.parquet", bad, w.Counters.ErrorRows); err != nil {
		return task.Written{}, err
	}
	s.w.tell("writes %s: %v %v", label, rows, bad)
	return w, nil
}

func (s *Sim) store(path string, f *file, rows int64) (*typesv1.Rowset, error) {
	if rows == 0 {
		return nil, nil
	}
	if s.files[path] != nil && s.cfg.Mutation != OverwriteFiles {
		return nil, errExists
	}
	s.files[path] = f
	return &typesv1.Rowset{Path: path, Rows: rows, Bytes: 100 * rows, SchemaVersion: 1}, nil
}
