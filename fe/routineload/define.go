package routineload

import (
	"encoding/hex"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"shoal/fe/errno"
	"shoal/fe/kafka"
	"shoal/internal/clientprops"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
)

// jobName is Doris's common name, which also passes as part of a label.
var jobName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)

// definition is what CREATE ROUTINE LOAD asks for, checked as far as that goes
// without a broker.
type definition struct {
	load *typesv1.RoutineLoad
	// start is where to begin; adopt asks to go on where the user's group is,
	// if it is anywhere.
	start kafka.Start
	adopt bool
}

// define checks the statement against the table. zone is the session's time
// zone, which a job without one gets. Nothing that was written is ignored.
func define(stmt *ast.CreateRoutineLoad, table *raftlogv1.Table, zone string) (definition, error) {
	load := &typesv1.RoutineLoad{}
	if err := readJobProperties(load, stmt.Properties); err != nil {
		return definition{}, err
	}
	if load.Timezone == "" {
		name, err := zoneName(zone)
		if err != nil {
			return definition{}, err
		}
		load.Timezone = name
	}
	if err := readLoadProperties(load, stmt, table); err != nil {
		return definition{}, err
	}
	if err := readSource(load, stmt.Source); err != nil {
		return definition{}, err
	}
	location, err := time.LoadLocation(load.Timezone)
	if err != nil {
		return definition{}, errno.New(errno.UnknownTimeZone, "Unknown or incorrect time zone: '%s'", load.Timezone)
	}
	offsets, given := load.CustomProperties[clientprops.DefaultOffsets]
	start, err := kafka.ParseStart(offsets, location)
	if err != nil {
		return definition{}, refuse("property.%s: %v", clientprops.DefaultOffsets, err)
	}
	return definition{load: load, start: start, adopt: load.GroupIdGiven && !given}, nil
}

// readLoadProperties reads the clauses before PROPERTIES.
func readLoadProperties(load *typesv1.RoutineLoad, stmt *ast.CreateRoutineLoad, table *raftlogv1.Table) error {
	switch {
	case stmt.Merge == ast.Delete || stmt.Merge == ast.Merge:
		return unsupported("WITH %s is not supported yet: tables have no unique keys", stmt.Merge)
	case stmt.Load.PrecedingFilter != nil:
		return unsupported("PRECEDING FILTER is not supported yet")
	case stmt.Load.Where != nil:
		return unsupported("WHERE in CREATE ROUTINE LOAD is not supported yet")
	case stmt.Load.DeleteOn != nil:
		return unsupported("DELETE ON is not supported yet")
	case stmt.Load.OrderBy != "":
		return unsupported("ORDER BY in CREATE ROUTINE LOAD is not supported yet")
	case stmt.Load.Partitions != nil:
		return unsupported("PARTITION in CREATE ROUTINE LOAD is not supported yet")
	}
	if text := stmt.Load.ColumnsTerminatedBy; text != nil {
		if load.Format != typesv1.RoutineLoad_FORMAT_CSV {
			return refuse("COLUMNS TERMINATED BY is for format csv; the job's format is json")
		}
		separator, err := unescapeSeparator(*text)
		if err != nil {
			return err
		}
		load.ColumnSeparator = separator
	}
	return readColumns(load, stmt.Load.Columns, table)
}

// readColumns checks COLUMNS(...): names of the table's columns, each once,
// and none left out that must have a value.
func readColumns(load *typesv1.RoutineLoad, columns []ast.LoadColumn, table *raftlogv1.Table) error {
	schema := table.Schemas[len(table.Schemas)-1]
	for _, c := range columns {
		if c.Expr != nil {
			return unsupported("Derived columns, as '%s' = %s, are not supported yet", c.Name, c.Expr.Text)
		}
		i := slices.IndexFunc(schema.Columns, func(have *typesv1.Column) bool { return strings.EqualFold(have.Name, c.Name) })
		if i < 0 {
			return errno.New(errno.BadField, "Unknown column '%s' in '%s'; source fields that fill no column are not supported yet", c.Name, table.Name)
		}
		name := schema.Columns[i].Name
		if slices.Contains(load.Columns, name) {
			return refuse("Duplicate column '%s' in COLUMNS", name)
		}
		load.Columns = append(load.Columns, name)
	}
	for _, c := range schema.Columns {
		needed := !c.Nullable && c.DefaultValue == nil && !c.DefaultCurrentTimestamp
		if len(columns) > 0 && needed && !slices.Contains(load.Columns, c.Name) {
			return refuse("Column '%s' is NOT NULL and has no default value, but is not in COLUMNS", c.Name)
		}
	}
	return nil
}

// escapes are those of COLUMNS TERMINATED BY (Doris, Separator).
var escapes = strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\r`, "\r", `\\`, `\`, `\'`, "'", `\"`, `"`)

// unescapeSeparator reads a separator: \x begins bytes in hexadecimal, \\ and
// letters are as in strings.
func unescapeSeparator(text string) (string, error) {
	separator := escapes.Replace(text)
	if digits, ok := strings.CutPrefix(text, `\x`); ok {
		bytes, err := hex.DecodeString(strings.ReplaceAll(digits, `\x`, ""))
		if err != nil || len(bytes) == 0 {
			return "", refuse(`Invalid separator '%s': \x wants pairs of hexadecimal digits, as in '\x01'`, text)
		}
		separator = string(bytes)
	}
	switch {
	case separator == "":
		return "", refuse("COLUMNS TERMINATED BY must not be empty")
	case strings.ContainsRune(separator, '\n'):
		return "", refuse("COLUMNS TERMINATED BY must not have a newline, which ends rows")
	case !utf8.ValidString(separator):
		return "", unsupported("COLUMNS TERMINATED BY with bytes that are no UTF-8 is not supported yet")
	}
	return separator, nil
}

// readSource reads FROM KAFKA (...).
func readSource(load *typesv1.RoutineLoad, source ast.DataSource) error {
	if !strings.EqualFold(source.Type, "KAFKA") {
		return refuse("Unknown data source type '%s'; KAFKA is known", source.Type)
	}
	load.CustomProperties = make(map[string]string)
	for _, p := range source.Properties {
		if err := readSourceProperty(load, strings.ToLower(p.Key), strings.TrimSpace(p.Value)); err != nil {
			return err
		}
	}
	switch {
	case len(load.Brokers) == 0:
		return refuse("kafka_broker_list is a required property")
	case load.Topic == "":
		return refuse("kafka_topic is a required property")
	}
	if group, ok := load.CustomProperties[clientprops.GroupID]; ok {
		if group == "" {
			return refuse("property.group.id must not be empty")
		}
		load.GroupId, load.GroupIdGiven = group, true
	}
	if _, err := clientprops.Options(load.CustomProperties, nil); err != nil {
		return refuse("%v", err)
	}
	return nil
}

func readSourceProperty(load *typesv1.RoutineLoad, key, value string) error {
	switch {
	case key == "kafka_broker_list":
		return readBrokers(load, value)
	case key == "kafka_topic":
		load.Topic = value
		return nil
	case key == clientprops.DefaultOffsets, key == "property."+clientprops.DefaultOffsets:
		if had, twice := load.CustomProperties[clientprops.DefaultOffsets]; twice && had != value {
			return refuse("kafka_default_offsets is given twice: '%s' and '%s'", had, value)
		}
		load.CustomProperties[clientprops.DefaultOffsets] = value
		return nil
	case strings.HasPrefix(key, "property."):
		load.CustomProperties[strings.TrimPrefix(key, "property.")] = value
		return nil
	case key == "kafka_partitions", key == "kafka_offsets":
		return unsupported("%s is not supported with load_mode share_group: a share group reads all partitions; property.kafka_default_offsets says where it begins", key)
	case strings.HasPrefix(key, "kafka_table_name_"), strings.HasPrefix(key, "kafka_text_table_name_"):
		return unsupported("%s is not supported yet: it is for multi-table jobs", key)
	case strings.HasPrefix(key, "aws."):
		return unsupported("%s is not supported yet", key)
	}
	return refuse("Unknown data source property '%s'; known are kafka_broker_list, kafka_topic and property.*", key)
}

// readBrokers reads host:port, host:port.
func readBrokers(load *typesv1.RoutineLoad, list string) error {
	for broker := range strings.SplitSeq(list, ",") {
		broker = strings.TrimSpace(broker)
		host, port, err := net.SplitHostPort(broker)
		number, portErr := strconv.ParseUint(port, 10, 16)
		if err != nil || portErr != nil || host == "" || number == 0 || strings.ContainsAny(host, " /@") {
			return refuse("kafka_broker_list: '%s' is not host:port", broker)
		}
		load.Brokers = append(load.Brokers, broker)
	}
	return nil
}
