package ledgercheck

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shoal/fe/state/ledger"
	"shoal/internal/offsets"
	"shoal/internal/rowsetmeta"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// A file is a rowset or error rowset as the state has it.
type file struct {
	txn         uint64
	label, path string
	rows, bytes int64
	errors      bool
	table       uint64                      // of rows, not of error rows
	partitions  []*typesv1.PartitionOffsets // not of the error rows of a txn with rows
}

// String names a file for people.
func (f *file) String() string { return fmt.Sprintf("file %s (label %s)", f.path, f.label) }

// check is one under way.
type check struct {
	in         Input
	files      []*file // txn by txn
	partitions map[ledger.Key]*partition
	oldest     uint64 // log index that began the oldest ledger
	out        Report
	errorRows  int64

	// Of the txn whose files are being read: the first that could be, and what it
	// said of the offsets.
	first   *file
	offsets string
}

func newCheck(in Input) *check {
	c := &check{in: in, partitions: map[ledger.Key]*partition{}}
	for i, l := range in.Ledgers {
		c.partitions[l.Key] = &partition{Partition: Partition{Ledger: l}}
		if i == 0 || l.Trace.Since < c.oldest {
			c.oldest = l.Trace.Since
		}
	}
	// Rows before error rows, of which the state may not say where they come from.
	for _, rowsets := range in.Tables {
		for _, r := range rowsets {
			if r.JobId == in.Job.Id {
				c.files = append(c.files, newFile(r.Rowset, &file{txn: r.TxnId, label: r.Label, table: r.TableId, partitions: r.Partitions}))
			}
		}
	}
	for _, r := range in.Errors {
		c.files = append(c.files, newFile(r.Rowset, &file{txn: r.TxnId, label: r.Label, errors: true, partitions: r.Partitions}))
	}
	slices.SortStableFunc(c.files, func(a, b *file) int {
		return cmp.Or(cmp.Compare(a.txn, b.txn), strings.Compare(a.label, b.label))
	})
	return c
}

func newFile(r *typesv1.Rowset, f *file) *file {
	f.path, f.rows, f.bytes = r.GetPath(), r.GetRows(), r.GetBytes()
	return f
}

// read compares what a file says with what the state says of it, and takes down
// its offsets.
func (c *check) read(f *file, footer *backendv1.ReadFootersResponse) {
	c.out.Files++
	differ := func(format string, args ...any) {
		c.out.Differences.add("%s%s %s", f, stated(f.partitions), fmt.Sprintf(format, args...))
	}
	if footer.Error != "" {
		differ("cannot be read: %s", footer.Error)
		return
	}
	if f.errors {
		c.errorRows += footer.Rows
	} else {
		c.out.Rows += footer.Rows
	}
	said := footer.Metadata
	switch table := strconv.FormatUint(f.table, 10); {
	case said[rowsetmeta.Label] != f.label:
		differ("has the label %q", said[rowsetmeta.Label])
	case !f.errors && said[rowsetmeta.TableID] != table:
		differ("is for table id %q, not %s", said[rowsetmeta.TableID], table)
	case footer.Rows != f.rows:
		differ("has %d rows, and was committed with %d", footer.Rows, f.rows)
	case footer.Bytes != f.bytes:
		differ("has %d bytes, and was committed with %d", footer.Bytes, f.bytes)
	}
	parts, err := rowsetmeta.Decode(said[rowsetmeta.Offsets])
	if err != nil {
		differ("does not say what it holds: %v", err)
		return
	}
	if other := otherOffsets(f.partitions, parts); len(f.partitions) > 0 && other != "" {
		differ("says it holds %s", other)
	}
	if c.first != nil && c.first.txn == f.txn && c.first.label == f.label {
		if c.offsets != said[rowsetmeta.Offsets] {
			differ("holds %s, and %s of the same txn does not", describe(parts), c.first)
		}
		return // one of several files of a txn, each of which tells of all
	}
	c.first, c.offsets = f, said[rowsetmeta.Offsets]
	c.take(f, parts)
}

// take takes down the offsets of a txn, for the ledgers that had begun.
func (c *check) take(f *file, parts []rowsetmeta.Partition) {
	for _, p := range parts {
		of := c.partitions[ledger.Key{TopicID: p.TopicID, Partition: p.Partition}]
		switch {
		case of != nil && f.txn > of.Ledger.Trace.Since:
			of.add(f, p)
		case of == nil && f.txn > c.oldest:
			c.out.Differences.add("%s holds %s, of which there is no ledger", f, describe([]rowsetmeta.Partition{p}))
		}
	}
}

// report compares the numbers, when all files were read.
func (c *check) report() *Report {
	complete := true
	for _, l := range c.in.Ledgers {
		p := c.partitions[l.Key]
		p.compare(c.files)
		c.out.Partitions = append(c.out.Partitions, p.Partition)
		complete = complete && l.Trace.Kept
	}
	job := c.in.Job
	if sum, counted := c.out.Rows+job.CutRows, job.Counters.GetLoadedRows(); complete && sum != counted {
		c.out.Differences.add("the job counts %d loaded rows; its files have %d, and TRUNCATE and DROP took %d", counted, c.out.Rows, job.CutRows)
	}
	if counted := job.Counters.GetErrorRows(); complete && c.errorRows != job.KeptErrorRows || c.errorRows > counted {
		c.out.Differences.add("the job keeps %d of %d error rows; its files have %d", job.KeptErrorRows, counted, c.errorRows)
	}
	return &c.out
}

// stated is where the state says that a file's rows come from, " of …"; "" where
// it does not say.
func stated(partitions []*typesv1.PartitionOffsets) string {
	if len(partitions) == 0 {
		return ""
	}
	return " of " + describe(asParts(partitions))
}

// otherOffsets is what a file says it holds if that is not what the state says
// of it; "" if it is.
func otherOffsets(state []*typesv1.PartitionOffsets, said []rowsetmeta.Partition) string {
	of := asParts(state)
	byPartition := func(a, b rowsetmeta.Partition) int {
		return cmp.Or(bytes.Compare(a.TopicID[:], b.TopicID[:]), cmp.Compare(a.Partition, b.Partition))
	}
	// What settles nothing is in the file for people only.
	said = slices.DeleteFunc(slices.Clone(said), func(p rowsetmeta.Partition) bool { return len(p.Loaded)+len(p.Void)+len(p.Expired) == 0 })
	slices.SortFunc(of, byPartition)
	slices.SortFunc(said, byPartition)
	same := slices.EqualFunc(of, said, func(a, b rowsetmeta.Partition) bool {
		return byPartition(a, b) == 0 && slices.Equal(a.Loaded, b.Loaded) && slices.Equal(a.Void, b.Void) && slices.Equal(a.Expired, b.Expired)
	})
	if same {
		return ""
	}
	return describe(said)
}

func asParts(partitions []*typesv1.PartitionOffsets) []rowsetmeta.Partition {
	parts := make([]rowsetmeta.Partition, len(partitions))
	for i, p := range partitions {
		copy(parts[i].TopicID[:], p.TopicId)
		parts[i].Partition = p.Partition
		var loaded, void, expired []offsets.Range
		for _, r := range p.Loaded {
			loaded = append(loaded, offsets.Range{First: r.First, Last: r.Last})
		}
		for _, r := range p.Void {
			void = append(void, offsets.Range{First: r.First, Last: r.Last})
		}
		for _, r := range p.Expired {
			expired = append(expired, offsets.Range{First: r.First, Last: r.Last})
		}
		parts[i].Loaded, parts[i].Void, parts[i].Expired = offsets.Of(loaded...), offsets.Of(void...), offsets.Of(expired...)
	}
	return parts
}

// shownRanges is how many ranges of a partition a difference lists.
const shownRanges = 10

// describe is what a txn settles, for people.
func describe(parts []rowsetmeta.Partition) string {
	var out []string
	for _, p := range parts {
		text := fmt.Sprintf("partition %d offsets %s", p.Partition, shorten(p.Loaded))
		if len(p.Void) > 0 {
			text += " and void " + shorten(p.Void)
		}
		if len(p.Expired) > 0 {
			text += " and expired " + shorten(p.Expired)
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

func shorten(s offsets.Set) string {
	text := s[:min(len(s), shownRanges)].String()
	if more := len(s) - shownRanges; more > 0 {
		text += fmt.Sprintf(" and %d more ranges", more)
	}
	return text
}

// holder is the rowset that the state says has an offset, nil if none.
func holder(files []*file, key ledger.Key, since uint64, offset int64) *file {
	i := slices.IndexFunc(files, func(f *file) bool {
		return f.txn > since && slices.ContainsFunc(asParts(f.partitions), func(p rowsetmeta.Partition) bool {
			return p.TopicID == key.TopicID && p.Partition == key.Partition && p.Loaded.Contains(offset)
		})
	})
	if i < 0 {
		return nil
	}
	return files[i]
}
