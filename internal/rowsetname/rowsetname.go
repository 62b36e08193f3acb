// Package rowsetname spells the names of rowset files, which say what txn a
// file is of: backends write by them, and the leading frontend tells by them
// which files nobody can need any more.
//
// A name is given once and for ever: within an incarnation of the cluster a
// task's epoch never comes again, nor within it a number. Pure.
package rowsetname

import (
	"fmt"
	"regexp"
	"strconv"
)

// A Name is whose a file is. All but Table begin at 1.
type Name struct {
	Table                                 uint64 // 0 for error rows of a multi-table job
	Incarnation, Job, Task, Epoch, Number uint64
	Errors                                bool // error rows, which are the job's
}

// String is the file's path in the warehouse. Each table has a folder.
func (n Name) String() string {
	suffix := ""
	if n.Errors {
		suffix = "-errors"
	}
	return fmt.Sprintf("%d/%d-%d-%d-%d-%d%s.parquet", n.Table, n.Incarnation, n.Job, n.Task, n.Epoch, n.Number, suffix)
}

var form = regexp.MustCompile(`^(\d+)/(\d+)-(\d+)-(\d+)-(\d+)-(\d+)(-errors)?\.parquet$`)

// Parse reads a path that String wrote. Of any other, ok is false.
func Parse(path string) (n Name, ok bool) {
	m := form.FindStringSubmatch(path)
	if m == nil {
		return Name{}, false
	}
	for i, to := range []*uint64{&n.Table, &n.Incarnation, &n.Job, &n.Task, &n.Epoch, &n.Number} {
		var err error
		if *to, err = strconv.ParseUint(m[i+1], 10, 64); err != nil || *to == 0 && i > 0 {
			return Name{}, false
		}
	}
	n.Errors = m[7] != ""
	return n, n.String() == path // 01 is no number of ours
}
