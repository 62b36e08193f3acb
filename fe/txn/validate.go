package txn

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"shoal/fe/state/ledger"
	"shoal/internal/warehouse"
	frontendv1 "shoal/proto/frontend/v1"
	typesv1 "shoal/proto/types/v1"
)

// ErrMalformed marks requests that no state of the cluster could commit: the
// backend that made them is at fault.
var ErrMalformed = errors.New("malformed CommitTxn")

// Validate checks what can be checked without the state: that a request names
// its txn and table, that files, counters and offsets agree, and that its
// offsets are in order. The error is ErrMalformed and says what is wrong.
func Validate(req *frontendv1.CommitTxnRequest) error {
	for _, check := range []func(*frontendv1.CommitTxnRequest) error{validateNames, validateCounters, validateFiles, validatePartitions, validateRecords} {
		if err := check(req); err != nil {
			return fmt.Errorf("%w %s: %w", ErrMalformed, req.GetLabel(), err)
		}
	}
	return nil
}

func validateNames(req *frontendv1.CommitTxnRequest) error {
	switch {
	case req.GetJobId() == 0, req.TaskId == 0, req.Epoch == 0, req.Number == 0, req.TableId == 0, req.SchemaVersion == 0, req.Generation == 0:
		return errors.New("job, task, epoch, number, table, schema version and generation begin at 1")
	case len(req.Digest) != sha256.Size:
		return fmt.Errorf("the digest has %d bytes, SHA-256 has %d", len(req.Digest), sha256.Size)
	case req.Label == "":
		return errors.New("the label is missing")
	}
	return nil
}

// validateCounters wants rows and files to agree: rows without a file would be
// settled and lost.
func validateCounters(req *frontendv1.CommitTxnRequest) error {
	c := req.GetCounters()
	switch {
	case c.GetTotalRows() < 0, c.GetLoadedRows() < 0, c.GetErrorRows() < 0, c.GetUnselectedRows() < 0, c.GetEmptyMessages() < 0, c.GetReceivedBytes() < 0:
		return errors.New("a counter is negative")
	case c.GetTotalRows() != c.GetLoadedRows()+c.GetErrorRows()+c.GetUnselectedRows():
		return fmt.Errorf("%d rows are not the sum of %d loaded, %d error and %d unselected rows",
			c.GetTotalRows(), c.GetLoadedRows(), c.GetErrorRows(), c.GetUnselectedRows())
	case c.GetLoadedRows() != req.Rowset.GetRows():
		return fmt.Errorf("%d rows are loaded, the rowset has %d", c.GetLoadedRows(), req.Rowset.GetRows())
	case c.GetErrorRows() != req.ErrorRowset.GetRows():
		return fmt.Errorf("%d rows are in error, the error rowset has %d", c.GetErrorRows(), req.ErrorRowset.GetRows())
	}
	return nil
}

func validateFiles(req *frontendv1.CommitTxnRequest) error {
	for _, file := range []*typesv1.Rowset{req.Rowset, req.ErrorRowset} {
		if file == nil {
			continue
		}
		if file.Rows <= 0 || file.Bytes <= 0 {
			return fmt.Errorf("file %q has %d rows in %d bytes", file.Path, file.Rows, file.Bytes)
		}
		if err := warehouse.CheckPath(file.Path); err != nil {
			return err
		}
	}
	switch {
	case req.Rowset == nil:
	case req.Rowset.SchemaVersion != req.SchemaVersion:
		return fmt.Errorf("the rowset has schema version %d, the txn %d", req.Rowset.SchemaVersion, req.SchemaVersion)
	case req.Rowset.Path == req.ErrorRowset.GetPath():
		return fmt.Errorf("rows and error rows are in one file, %s", req.Rowset.Path)
	}
	return nil
}

func validatePartitions(req *frontendv1.CommitTxnRequest) error {
	if len(req.Partitions) == 0 {
		return errors.New("it settles nothing")
	}
	seen := make(map[ledger.Key]bool, len(req.Partitions))
	for _, p := range req.Partitions {
		if err := ledger.Validate(p); err != nil {
			return err
		}
		key, _ := ledger.KeyOf(p.TopicId, p.Partition)
		if seen[key] {
			return fmt.Errorf("partition %d of topic id %x is there twice", p.Partition, p.TopicId)
		}
		seen[key] = true
	}
	return nil
}

// validateRecords wants each record to have become a row, or several, or to be
// counted as empty: one that went astray in a backend is not settled as loaded,
// and rows come from the records that are.
func validateRecords(req *frontendv1.CommitTxnRequest) error {
	var records int64
	for _, p := range req.Partitions {
		for _, r := range p.Loaded {
			records += r.Last - r.First + 1
		}
	}
	rows, empty := req.GetCounters().GetTotalRows(), req.GetCounters().GetEmptyMessages()
	if filled := records - empty; filled < 0 || filled > rows || filled == 0 && rows > 0 {
		return fmt.Errorf("%d records cannot be %d rows and %d empty messages", records, rows, empty)
	}
	return nil
}
