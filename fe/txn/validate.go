package txn

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state/ledger"
	"shoal/internal/rowsetname"
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
	if size := proto.Size(req); size > maxRequest {
		return fmt.Errorf("%w %.200s: it has %d MiB, and at most %d fit into the log", ErrMalformed, req.GetLabel(), size>>20, maxRequest>>20)
	}
	for _, check := range []func(*frontendv1.CommitTxnRequest) error{validateNames, validateCounters, validateFiles, validatePartitions, validateRecords} {
		if err := check(req); err != nil {
			return fmt.Errorf("%w %s: %w", ErrMalformed, req.GetLabel(), err)
		}
	}
	return nil
}

// maxRequest bounds a request: an entry of the log must have room for it beside
// the others of its group.
const maxRequest = 8 << 20

func validateNames(req *frontendv1.CommitTxnRequest) error {
	switch {
	case req.GetJobId() == 0, req.TaskId == 0, req.Epoch == 0, req.Number == 0, req.Generation == 0:
		return errors.New("job, task, epoch, number and generation begin at 1")
	case (req.TableId == 0) != (req.SchemaVersion == 0):
		return errors.New("table and schema version begin at 1, and a multi-table job's txn has neither")
	case req.TableId == 0 && req.Rowset != nil, req.TableId != 0 && len(req.Tables) > 0:
		return errors.New("rows are those of one table, or of a list of tables")
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
	rows := req.Rowset.GetRows()
	for _, t := range req.Tables {
		rows += t.GetRowset().GetRows()
	}
	switch {
	case c.GetTotalRows() < 0, c.GetLoadedRows() < 0, c.GetErrorRows() < 0, c.GetUnselectedRows() < 0, c.GetEmptyMessages() < 0, c.GetReceivedBytes() < 0:
		return errors.New("a counter is negative")
	case c.GetTotalRows() != c.GetLoadedRows()+c.GetErrorRows()+c.GetUnselectedRows():
		return fmt.Errorf("%d rows are not the sum of %d loaded, %d error and %d unselected rows",
			c.GetTotalRows(), c.GetLoadedRows(), c.GetErrorRows(), c.GetUnselectedRows())
	case c.GetLoadedRows() != rows:
		return fmt.Errorf("%d rows are loaded, the files have %d", c.GetLoadedRows(), rows)
	case c.GetErrorRows() < req.ErrorRowset.GetRows(), c.GetErrorRows() > 0 && req.ErrorRowset == nil: // not all of very many are kept
		return fmt.Errorf("%d rows are in error, the error rowset has %d", c.GetErrorRows(), req.ErrorRowset.GetRows())
	}
	return nil
}

// validateFiles wants each file to have a name of the txn's own, since by names
// is told which files no txn can commit any more.
func validateFiles(req *frontendv1.CommitTxnRequest) error {
	if err := validateFile(req, req.Rowset, req.TableId, false); err != nil {
		return err
	}
	if err := validateFile(req, req.ErrorRowset, req.TableId, true); err != nil {
		return err
	}
	for _, t := range req.Tables {
		if err := validateFile(req, t.GetRowset(), t.GetTableId(), false); err != nil {
			return err
		}
	}
	if req.Rowset != nil && req.Rowset.SchemaVersion != req.SchemaVersion {
		return fmt.Errorf("the rowset has schema version %d, the txn %d", req.Rowset.SchemaVersion, req.SchemaVersion)
	}
	return validateTables(req.Tables)
}

func validateFile(req *frontendv1.CommitTxnRequest, file *typesv1.Rowset, table uint64, errors bool) error {
	if file == nil {
		return nil
	}
	if file.Rows <= 0 || file.Bytes <= 0 {
		return fmt.Errorf("file %q has %d rows in %d bytes", file.Path, file.Rows, file.Bytes)
	}
	name, ok := rowsetname.Parse(file.Path)
	own := rowsetname.Name{Table: table, Incarnation: name.Incarnation, Job: req.JobId, Task: req.TaskId, Epoch: req.Epoch, Number: req.Number, Errors: errors}
	if !ok || name != own {
		return fmt.Errorf("file %q is none of this txn's, which are named as in %s", file.Path, own)
	}
	return nil
}

// validateTables wants each table of a multi-table job once, with rows.
func validateTables(tables []*frontendv1.TableRows) error {
	seen := make(map[uint64]bool, len(tables))
	for _, t := range tables {
		switch {
		case t.GetTableId() == 0, t.SchemaVersion == 0, t.Rowset == nil, t.Rowset.SchemaVersion != t.SchemaVersion:
			return fmt.Errorf("table %d has no rows of its schema version %d", t.GetTableId(), t.GetSchemaVersion())
		case seen[t.TableId]:
			return fmt.Errorf("table %d is there twice", t.TableId)
		}
		seen[t.TableId] = true
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
