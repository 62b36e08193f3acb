package pipe

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"shoal/be/decode"
	"shoal/be/source"
	backendv1 "shoal/proto/backend/v1"
)

// message is a record with what its rows are decoded from.
type message struct {
	part   *source.Partition
	record *source.Record
	value  []byte // of the record, in a multi-table job behind the table's name
}

// messages hands out the messages of a txn that have a value, in order.
type messages interface {
	next() (message, bool)
}

// allMessages are those of a job with one table.
type allMessages struct {
	tally *tally
	table string             // for error rows
	parts []source.Partition // the first is being read
	at    int                // the next record of it
}

func (m *allMessages) next() (message, bool) {
	for len(m.parts) > 0 {
		part := &m.parts[0]
		if m.at == len(part.Records) {
			m.parts, m.at = m.parts[1:], 0
			continue
		}
		record := part.Records[m.at]
		m.at++
		if why, poison := part.Poison[record.Offset]; poison {
			m.tally.received += int64(len(record.Value))
			m.tally.bad.add(badRow{message: message{part, record, record.Value}, table: m.table, RowError: decode.RowError{
				Line: 1, Reason: why, Raw: record.Value}})
			continue
		}
		if len(record.Value) > 0 {
			m.tally.received += int64(len(record.Value))
			return message{part, record, record.Value}, true
		}
		m.tally.empty++
	}
	return message{}, false
}

// someMessages are those for one table of a multi-table job.
type someMessages []message

func (m *someMessages) next() (message, bool) {
	if len(*m) == 0 {
		return message{}, false
	}
	first := (*m)[0]
	*m = (*m)[1:]
	return first, true
}

// tableMessages is what a txn has for one table.
type tableMessages struct {
	table *backendv1.TaskTable
	list  someMessages
}

// splitByTable sorts the messages of a txn, table|rows, by the tables that they
// name, in the order of the tables' ids. One that names none is an error row,
// so that it costs no other its turn (Doris fails the task).
func splitByTable(tables map[string]*backendv1.TaskTable, all *allMessages) []tableMessages {
	split := map[uint64]*tableMessages{}
	for m, more := all.next(); more; m, more = all.next() {
		name, rows, found := bytes.Cut(bytes.TrimPrefix(m.value, byteOrderMark), []byte{'|'})
		table := tables[string(name)]
		if !found || table == nil {
			all.tally.bad.add(badRow{message: m, table: printable(name, nameLimit), RowError: decode.RowError{
				Line: 1, Reason: whyNoTable(name, found), Raw: m.value}})
			continue
		}
		of := split[table.TableId]
		if of == nil {
			of = &tableMessages{table: table}
			split[table.TableId] = of
		}
		of.list = append(of.list, message{m.part, m.record, rows})
	}
	sorted := make([]tableMessages, 0, len(split))
	for _, of := range split {
		sorted = append(sorted, *of)
	}
	slices.SortFunc(sorted, func(a, b tableMessages) int { return cmp.Compare(a.table.TableId, b.table.TableId) })
	return sorted
}

var byteOrderMark = []byte("\xEF\xBB\xBF")

// nameLimit is how much of a wrong table name is shown.
const nameLimit = 64

func whyNoTable(name []byte, found bool) string {
	switch {
	case !found:
		return "no table name: a message of a multi-table job is the name of a table, a vertical bar and rows, as in orders|1,2"
	case len(name) == 0:
		return "no table name stands before the vertical bar"
	}
	return fmt.Sprintf("the database has no table of the name %q", printable(name, nameLimit))
}
