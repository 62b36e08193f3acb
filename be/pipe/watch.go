package pipe

import (
	"shoal/be/source"
	backendv1 "shoal/proto/backend/v1"
)

// tell tells whoever watches what became of a row.
func (f *mappedFeed) tell(o *origin, outcome backendv1.DryRunRow_Outcome) {
	if f.target.watch == nil {
		return
	}
	row := rowOf(&o.message, outcome)
	row.Line, row.TableName = int32(o.at.Line), f.target.name
	if o.at.Raw != nil {
		row.Raw = printable(o.at.Raw, sampleLimit)
	}
	f.target.watch(row)
}

// tellRest tells of the error rows, and of the messages without a value.
func (w *writer) tellRest(parts []source.Partition) {
	for i := range w.tally.bad.kept {
		bad := &w.tally.bad.kept[i]
		row := rowOf(&bad.message, backendv1.DryRunRow_OUTCOME_ERROR)
		row.Line, row.TableName, row.Column, row.Reason, row.Raw = int32(bad.Line), bad.table, bad.Column, bad.reason(), printable(bad.Raw, sampleLimit)
		w.pipe.cfg.Watch(row)
	}
	for i := range parts {
		for _, r := range parts[i].Records {
			if len(r.Value) == 0 {
				w.pipe.cfg.Watch(rowOf(&message{&parts[i], r, nil}, backendv1.DryRunRow_OUTCOME_EMPTY))
			}
		}
	}
}

// rowOf begins a row of a message.
func rowOf(m *message, outcome backendv1.DryRunRow_Outcome) *backendv1.DryRunRow {
	return &backendv1.DryRunRow{Partition: m.part.Partition, Offset: m.record.Offset, Outcome: outcome, Raw: printable(m.record.Value, sampleLimit)}
}
