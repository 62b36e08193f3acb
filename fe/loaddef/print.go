package loaddef

import (
	"maps"
	"slices"
	"strings"

	"shoal/internal/clientprops"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
)

// hidden stands for a secret.
const hidden = "******"

// Statement is the statement that makes the job again: every property as it is
// in effect, secrets hidden, the start as CREATE, or ALTER to another topic, gave
// it and not where the job stands. table is empty for a multi-table job.
func Statement(job ast.Name, table string, load *typesv1.RoutineLoad, comment string) *ast.CreateRoutineLoad {
	load = clone(load)
	stmt := &ast.CreateRoutineLoad{Job: job, Table: table, Load: clauses(load), Comment: comment}
	for _, p := range jobProperties {
		_, asked := load.JobProperties[p.key]
		value := p.show(load)
		if p.concerns(load) && value != "" && (p.inert == "" || asked) {
			stmt.Properties = append(stmt.Properties, ast.Property{Key: p.key, Value: value})
		}
	}
	stmt.Source = ast.DataSource{Type: "KAFKA", Properties: sourceOf(load)}
	return stmt
}

// clauses is the load properties of a definition.
func clauses(load *typesv1.RoutineLoad) ast.LoadProperties {
	var out ast.LoadProperties
	if load.ColumnSeparator != "" {
		text := escapeSeparator(load.ColumnSeparator)
		out.ColumnsTerminatedBy = &text
	}
	for _, c := range load.LoadColumns {
		out.Columns = append(out.Columns, ast.LoadColumn{Name: c.Name, Expr: expression(c.Expr)})
	}
	out.PrecedingFilter, out.Where = expression(load.PrecedingFilter), expression(load.Where)
	return out
}

func expression(text string) *ast.Expr {
	if text == "" {
		return nil
	}
	return &ast.Expr{Text: text}
}

// sourceOf is the properties of FROM KAFKA.
func sourceOf(load *typesv1.RoutineLoad) ast.Properties {
	out := ast.Properties{
		{Key: "kafka_broker_list", Value: strings.Join(load.Brokers, ",")},
		{Key: "kafka_topic", Value: load.Topic},
	}
	shown := CustomProperties(load)
	for _, key := range slices.Sorted(maps.Keys(shown)) {
		out = append(out, ast.Property{Key: "property." + key, Value: shown[key]})
	}
	partitions := load.KafkaPartitions
	if len(partitions) == 0 {
		for i := range load.KafkaOffsets {
			partitions = append(partitions, int32(i))
		}
	}
	if len(partitions) > 0 {
		out = append(out, ast.Property{Key: "kafka_partitions", Value: joinNumbers(partitions)})
	}
	if len(load.KafkaOffsets) > 0 {
		out = append(out, ast.Property{Key: "kafka_offsets", Value: strings.Join(load.KafkaOffsets, ",")})
	}
	return out
}

// CustomProperties is property.* as it may be shown, without the prefix.
func CustomProperties(load *typesv1.RoutineLoad) map[string]string {
	out := make(map[string]string, len(load.CustomProperties))
	for key, value := range load.CustomProperties {
		if clientprops.IsSecret(key) && !clientprops.IsReference(value) {
			value = hidden
		}
		out[key] = value
	}
	return out
}
