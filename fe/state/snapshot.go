package state

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	raftlogv1 "shoal/proto/raftlog/v1"
)

// formatVersion is of the stream that WriteSnapshot writes. Releases read
// every version up to their own.
const formatVersion = 1

// maxRecord bounds a record's bytes, so that a corrupt length is an error and
// not an allocation. The largest records are jobs with hundreds of tasks.
const maxRecord = 64 << 20

// Clone is a copy that stays as it is when s changes, for snapshots: taking it
// costs time by the number of tables, jobs and ledgers, not of rowsets, and
// can be written while s goes on. The copy is only to be read.
func (s *State) Clone() *State {
	info := *s.cluster
	return &State{applied: s.applied, cluster: &info, catalog: s.catalog.Clone(), jobs: s.jobs.Clone(), ledgers: s.ledgers.Clone(), trash: s.trash}
}

// WriteSnapshot writes a header and records, each preceded by its length, in a
// fixed order: equal states give equal bytes.
func (s *State) WriteSnapshot(w io.Writer) error {
	count := s.catalog.Len() + s.jobs.Len() + s.ledgers.Len() + len(s.trash.Files())
	if s.cluster.Bootstrapped() {
		count++
	}
	buffered := bufio.NewWriter(w)
	options := protodelim.MarshalOptions{MarshalOptions: proto.MarshalOptions{Deterministic: true}}
	header := &raftlogv1.SnapshotHeader{FormatVersion: formatVersion, AppliedIndex: s.applied, Records: uint64(count)}
	if _, err := options.MarshalTo(buffered, header); err != nil {
		return fmt.Errorf("write snapshot header: %w", err)
	}
	var failed error
	s.records(func(r *raftlogv1.SnapshotRecord) bool {
		_, failed = options.MarshalTo(buffered, r)
		return failed == nil
	})
	if failed != nil {
		return fmt.Errorf("write snapshot record: %w", failed)
	}
	return buffered.Flush()
}

// records yields the state's parts, in the order in which they can be
// restored: what is referred to comes first.
func (s *State) records(yield func(*raftlogv1.SnapshotRecord) bool) {
	if c := s.cluster.Record(); c != nil && !yield(&raftlogv1.SnapshotRecord{Body: &raftlogv1.SnapshotRecord_Cluster{Cluster: c}}) {
		return
	}
	for r := range s.catalog.Records {
		if !yield(r) {
			return
		}
	}
	for r := range s.jobs.Records {
		if !yield(r) {
			return
		}
	}
	for l := range s.ledgers.Records() {
		if !yield(&raftlogv1.SnapshotRecord{Body: &raftlogv1.SnapshotRecord_Ledger{Ledger: l}}) {
			return
		}
	}
	for _, f := range s.trash.Files() {
		if !yield(&raftlogv1.SnapshotRecord{Body: &raftlogv1.SnapshotRecord_TrashFile{TrashFile: f}}) {
			return
		}
	}
}

// ErrSnapshot marks snapshots that cannot be read: damaged, or of a newer
// release.
var ErrSnapshot = errors.New("unreadable snapshot")

// ReadSnapshot makes a state from what WriteSnapshot wrote. Whatever the bytes
// are, it returns a state that Apply can go on from, or an ErrSnapshot.
func ReadSnapshot(r io.Reader) (*State, error) {
	buffered := bufio.NewReader(r)
	options := protodelim.UnmarshalOptions{MaxSize: maxRecord}
	var header raftlogv1.SnapshotHeader
	if err := options.UnmarshalFrom(buffered, &header); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrSnapshot, err)
	}
	if header.FormatVersion != formatVersion {
		return nil, fmt.Errorf("%w: format version %d, known is %d: it was written by another release", ErrSnapshot, header.FormatVersion, formatVersion)
	}
	s := New()
	s.applied = header.AppliedIndex
	for i := range header.Records {
		var record raftlogv1.SnapshotRecord
		if err := options.UnmarshalFrom(buffered, &record); err != nil {
			return nil, fmt.Errorf("%w: record %d of %d: %w", ErrSnapshot, i+1, header.Records, err)
		}
		if err := s.restore(&record); err != nil {
			return nil, fmt.Errorf("%w: record %d of %d: %w", ErrSnapshot, i+1, header.Records, err)
		}
	}
	if _, err := buffered.ReadByte(); err != io.EOF {
		return nil, fmt.Errorf("%w: it goes on after its %d records", ErrSnapshot, header.Records)
	}
	return s, nil
}

// restore adds one record.
func (s *State) restore(record *raftlogv1.SnapshotRecord) error {
	switch body := record.Body.(type) {
	case *raftlogv1.SnapshotRecord_Cluster:
		return s.cluster.Restore(body.Cluster)
	case *raftlogv1.SnapshotRecord_Database:
		return s.catalog.RestoreDatabase(body.Database)
	case *raftlogv1.SnapshotRecord_Table:
		return s.catalog.RestoreTable(body.Table)
	case *raftlogv1.SnapshotRecord_Rowset:
		return s.catalog.RestoreRowset(body.Rowset)
	case *raftlogv1.SnapshotRecord_File:
		return s.catalog.RestoreFile(body.File)
	case *raftlogv1.SnapshotRecord_Job:
		return s.jobs.RestoreJob(body.Job)
	case *raftlogv1.SnapshotRecord_ErrorRowset:
		return s.jobs.RestoreErrorRowset(body.ErrorRowset)
	case *raftlogv1.SnapshotRecord_Ledger:
		if s.jobs.ByID(body.Ledger.GetJobId()) == nil {
			return fmt.Errorf("ledger of job %d has no job", body.Ledger.GetJobId())
		}
		return s.ledgers.Restore(body.Ledger)
	case *raftlogv1.SnapshotRecord_TrashFile:
		return s.trash.Restore(body.TrashFile)
	default:
		return errors.New("a kind that this release does not know")
	}
}
