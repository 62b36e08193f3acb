package routineload

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/status"

	"shoal/fe/errno"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
	"shoal/fe/state/cow"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
)

// explainRecords is how many records EXPLAIN takes at most.
const explainRecords = 100

// explainColumns come before the table's.
var explainColumns = []result.Column{
	{Name: "Partition", Type: "int"}, {Name: "Offset", Type: "bigint"}, {Name: "Line", Type: "int"},
	{Name: "Outcome", Type: "varchar(16)"}, {Name: "Reason", Type: "text"},
}

// Explain carries out EXPLAIN CREATE ROUTINE LOAD: all checks of CREATE, and
// then what would become of up to a hundred records that are in the topic now,
// from where the job would begin or, where that is the end, of the last ones.
// It makes no job, group or row. A line for each row has the table's columns in
// their types; what fills them is told by SHOW WARNINGS.
func (m *Manager) Explain(ctx context.Context, s *session.Session, stmt *ast.ExplainRoutineLoad) (*result.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	c, err := m.check(ctx, s, stmt.Create)
	if err != nil {
		return nil, err
	}
	defer c.client.Close()
	spec, err := m.dryRunSpec(ctx, &c, stmt.Create.Job.Name)
	if err != nil {
		return nil, brokerError("Failed to explain the routine load job", err)
	}
	resp, err := m.cfg.Backends.DryRun(ctx, &backendv1.DryRunRequest{Task: spec, Limit: explainRecords})
	if err != nil {
		return nil, refuse("Failed to explain the routine load job: %s", status.Convert(err).Message())
	}
	warn(s, c.def)
	if c.table == nil {
		return explainedTables(spec.Tables, resp), nil
	}
	s.Warn(session.LevelNote, errno.Unknown, "Nothing was loaded. What fills the columns: "+describeColumns(spec.Schema, spec.Load))
	return explained(spec.Schema, resp), nil
}

// dryRunSpec is the task that would load from the job's starts.
func (m *Manager) dryRunSpec(ctx context.Context, c *checked, job string) (*backendv1.TaskSpec, error) {
	spec := &backendv1.TaskSpec{JobName: job, DbName: c.db.Name, Load: cow.Copy(c.def.Load)}
	var err error
	if spec.Load.CustomProperties, spec.Files, err = m.cfg.Kafka.Open(c.db.Id, c.def.Load); err != nil {
		return nil, err
	}
	logs, err := c.client.Logs(ctx, c.def.Load.Topic)
	if err != nil {
		return nil, err
	}
	for _, start := range c.starts {
		from, log := start.Start, logs[start.Partition]
		if from >= log.StableEnd {
			from = max(log.Start, log.StableEnd-int64(explainRecords/len(c.starts)+1))
		}
		spec.Partitions = append(spec.Partitions, &backendv1.PartitionStart{TopicId: start.TopicId, Partition: start.Partition, Offset: from})
	}
	if c.table != nil {
		spec.TableName, spec.TableId, spec.Schema = c.table.Name, c.table.Id, catalog.Newest(c.table)
		return spec, nil
	}
	m.cfg.Store.View(func(st *state.State) {
		for _, t := range st.Tables(c.db.Id) {
			spec.Tables = append(spec.Tables, &backendv1.TaskTable{TableId: t.Id, Name: t.Name, Schema: catalog.Newest(t)})
		}
	})
	return spec, nil
}

// explained is a dry run into one table.
func explained(schema *typesv1.Schema, resp *backendv1.DryRunResponse) *result.Table {
	table := &result.Table{Columns: explainColumns[:len(explainColumns):len(explainColumns)]}
	for _, c := range schema.Columns {
		table.Columns = append(table.Columns, result.Column{Name: c.Name, Type: c.Type})
	}
	for _, row := range resp.Rows {
		line := explainedRow(row)
		for i := range schema.Columns {
			line = append(line, cellOf(row, i))
		}
		table.Rows = append(table.Rows, line)
	}
	return table
}

// explainedTables is a dry run into all tables: a row is JSON of its columns.
func explainedTables(tables []*backendv1.TaskTable, resp *backendv1.DryRunResponse) *result.Table {
	table := &result.Table{Columns: append(explainColumns[:len(explainColumns):len(explainColumns)],
		result.Column{Name: "TableName", Type: "varchar(64)"}, result.Column{Name: "Row", Type: "text"})}
	schemas := map[string]*typesv1.Schema{}
	for _, t := range tables {
		schemas[t.Name] = t.Schema
	}
	for _, row := range resp.Rows {
		line := append(explainedRow(row), result.OrNull(row.TableName), nil)
		if len(row.Cells) > 0 {
			line[len(line)-1] = result.Text(rowAsJSON(schemas[row.TableName], row))
		}
		table.Rows = append(table.Rows, line)
	}
	return table
}

// explainedRow is the first columns of a line.
func explainedRow(row *backendv1.DryRunRow) []result.Cell {
	var line, reason result.Cell
	if row.Line > 0 {
		line = result.Text(fmt.Sprint(row.Line))
	}
	if row.Outcome == backendv1.DryRunRow_OUTCOME_ERROR {
		reason = result.Text(row.Reason + "; source: " + row.Raw)
	}
	outcome := strings.ToLower(strings.TrimPrefix(row.Outcome.String(), "OUTCOME_"))
	return []result.Cell{result.Text(fmt.Sprint(row.Partition)), result.Text(fmt.Sprint(row.Offset)), line, result.Text(outcome), reason}
}

// cellOf is a column of a loaded row; NULL in others.
func cellOf(row *backendv1.DryRunRow, i int) result.Cell {
	if i >= len(row.Cells) || row.Cells[i].Value == nil {
		return nil
	}
	return result.Text(string(row.Cells[i].Value))
}

// rowAsJSON is an object of the columns as text, in their order.
func rowAsJSON(schema *typesv1.Schema, row *backendv1.DryRunRow) string {
	var fields []string
	for i, c := range schema.GetColumns() {
		value := "null"
		if cell := cellOf(row, i); cell != nil {
			value = object(*cell)
		}
		fields = append(fields, object(c.Name)+":"+value)
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// describeColumns says of each column what fills it.
func describeColumns(schema *typesv1.Schema, load *typesv1.RoutineLoad) string {
	var parts []string
	for _, c := range schema.Columns {
		typ := c.Type
		if !c.Nullable {
			typ += " not null"
		}
		parts = append(parts, fmt.Sprintf("%s %s = %s", c.Name, typ, fillingOf(c, schema, load)))
	}
	return strings.Join(parts, "; ")
}

// fillingOf is what fills a column: an expression before a field, and a field
// before the default.
func fillingOf(c *typesv1.Column, schema *typesv1.Schema, load *typesv1.RoutineLoad) string {
	var fields []string
	for _, from := range load.LoadColumns {
		switch {
		case from.Expr == "":
			fields = append(fields, from.Name)
		case strings.EqualFold(from.Name, c.Name):
			return from.Expr
		}
	}
	if len(fields) == 0 { // no plain name is all columns
		for _, column := range schema.Columns {
			fields = append(fields, column.Name)
		}
	}
	at := slices.IndexFunc(fields, func(name string) bool { return strings.EqualFold(name, c.Name) })
	switch {
	case at >= 0 && load.Format != typesv1.RoutineLoad_FORMAT_JSON:
		return fmt.Sprintf("field %d", at+1)
	case at >= 0 && at < len(load.JsonPaths):
		return load.JsonPaths[at]
	case at >= 0 && len(load.JsonPaths) == 0:
		return "key " + fields[at]
	case c.DefaultValue != nil:
		return "default " + *c.DefaultValue
	case c.DefaultCurrentTimestamp:
		return "default current_timestamp"
	}
	return "null"
}
