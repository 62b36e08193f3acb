package loaddef

import (
	"encoding/json"
	"strconv"
	"strings"

	"shoal/internal/jsonpath"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/timezone"
)

// maxBatchIntervalS fits a duration; Doris has no limit.
const maxBatchIntervalS = 1 << 31

// noKeys is why partial updates are refused.
const noKeys = "tables have no unique keys"

// jobProperties are all that PROPERTIES may have, in the order in which SHOW
// CREATE prints them: Doris's (CREATE ROUTINE LOAD; its code where its pages
// differ) and ours.
var jobProperties = []property{
	// Ours: how the topic is read.
	{key: "load_mode", otherwise: "classic", read: readMode, show: func(l *typesv1.RoutineLoad) string { return modeName(l.Mode) }},
	// Without one it depends on the partitions; SHOW has what is in effect.
	number("desired_concurrent_number", "", 1, noLimit, func(l *typesv1.RoutineLoad) *int64 { return &l.DesiredConcurrentNumber }),
	number("max_error_number", "0", 0, noLimit, func(l *typesv1.RoutineLoad) *int64 { return &l.MaxErrorNumber }),
	{key: "max_filter_ratio", otherwise: "1", read: readFilterRatio, show: showFilterRatio},
	number("max_batch_interval", "60", 1, maxBatchIntervalS, func(l *typesv1.RoutineLoad) *int64 { return &l.MaxBatchIntervalS }),
	number("max_batch_rows", "20000000", 200_000, noLimit, func(l *typesv1.RoutineLoad) *int64 { return &l.MaxBatchRows }),
	number("max_batch_size", "1073741824", 100<<20, 10<<30, func(l *typesv1.RoutineLoad) *int64 { return &l.MaxBatchSize }),
	{key: "format", otherwise: "csv", fixed: true, read: readFormat, show: func(l *typesv1.RoutineLoad) string { return formatName(l.Format) }},
	later("partial_columns", noKeys, "false"),
	later("unique_key_update_mode", noKeys, "UPSERT"),
	later("partial_update_new_key_behavior", noKeys, "APPEND").as(fix),
	{key: "jsonpaths", read: readPaths, show: showPaths, format: typesv1.RoutineLoad_FORMAT_JSON},
	boolean("strip_outer_array", func(l *typesv1.RoutineLoad) *bool { return &l.StripOuterArray }).as(forJSON),
	boolean("num_as_string", func(l *typesv1.RoutineLoad) *bool { return &l.NumAsString }).as(forJSON),
	boolean("fuzzy_parse", func(l *typesv1.RoutineLoad) *bool { return &l.FuzzyParse }).as(forJSON),
	{key: "json_root", read: readRoot, show: func(l *typesv1.RoutineLoad) string { return l.JsonRoot }, format: typesv1.RoutineLoad_FORMAT_JSON},
	boolean("strict_mode", func(l *typesv1.RoutineLoad) *bool { return &l.StrictMode }),
	{key: "timezone", read: readZone, show: func(l *typesv1.RoutineLoad) string { return l.Timezone }},
	{key: "enclose", read: oneByte("enclose", func(l *typesv1.RoutineLoad) *string { return &l.Enclose }),
		show: func(l *typesv1.RoutineLoad) string { return l.Enclose }, format: typesv1.RoutineLoad_FORMAT_CSV},
	{key: "escape", read: oneByte("escape", func(l *typesv1.RoutineLoad) *string { return &l.Escape }),
		show: func(l *typesv1.RoutineLoad) string { return l.Escape }, format: typesv1.RoutineLoad_FORMAT_CSV},
	boolean("empty_field_as_null", func(l *typesv1.RoutineLoad) *bool { return &l.EmptyFieldAsNull }).as(forCSV),
	// Stream Load's, which Doris's routine load lacks.
	boolean("trim_double_quotes", func(l *typesv1.RoutineLoad) *bool { return &l.TrimDoubleQuotes }).as(forCSV),
	// Ours: fields beyond the last column are dropped.
	boolean("ignore_redundant_columns", func(l *typesv1.RoutineLoad) *bool { return &l.IgnoreRedundantFields }).as(forCSV),
	// Ours: what to do when records are gone before they were read.
	{key: "out_of_range", otherwise: "pause", read: readOutOfRange, show: showOutOfRange},
	// Ours: where error rows go as well.
	{key: "dead_letter_topic", read: readDeadLetters, show: func(l *typesv1.RoutineLoad) string { return l.DeadLetterTopic }},
	// Ours: how long a txn waits for more on a topic that has become quiet, and
	// settings of the share group, within Kafka's limits; the broker's own are
	// checked at CREATE.
	number("share_linger_ms", "200", 0, 60_000, func(l *typesv1.RoutineLoad) *int64 { return &l.ShareLingerMs }).as(forShare),
	number("share_record_lock_duration_ms", "", 1000, 3_600_000, func(l *typesv1.RoutineLoad) *int64 { return &l.ShareLockDurationMs }).as(forShare),
	number("share_delivery_count_limit", "", 2, 25, func(l *typesv1.RoutineLoad) *int32 { return &l.ShareDeliveryLimit }).as(forShare),
	number("share_partition_max_record_locks", "", 100, 10_000, func(l *typesv1.RoutineLoad) *int32 { return &l.ShareMaxRecordLocks }).as(forShare),
	// Doris's, with nothing to act on here.
	kept("exec_mem_limit", "2147483648", "backends bound their memory by themselves", func(value string) error {
		_, err := parseNumber("exec_mem_limit", value, 0, noLimit)
		return err
	}),
	kept("send_batch_parallelism", "1", "a task writes its own files and sends batches to nobody", func(value string) error {
		_, err := parseNumber("send_batch_parallelism", value, 1, noLimit)
		return err
	}),
	kept("load_to_single_tablet", "false", "tables have no tablets", func(value string) error {
		return parseBool("load_to_single_tablet", value, new(bool))
	}),
	kept("workload_group", "", "there are no workload groups but Doris's normal one", func(value string) error {
		if !strings.EqualFold(value, "normal") {
			return refuse("workload_group '%s' does not exist: there is only 'normal'", value)
		}
		return nil
	}).as(func(p *property) { p.fixed = false }),
}

func forCSV(p *property)   { p.format = typesv1.RoutineLoad_FORMAT_CSV }
func forJSON(p *property)  { p.format = typesv1.RoutineLoad_FORMAT_JSON }
func forShare(p *property) { p.mode = typesv1.RoutineLoad_MODE_SHARE_GROUP }
func fix(p *property)      { p.fixed = true }

func modeName(mode typesv1.RoutineLoad_Mode) string {
	if mode == typesv1.RoutineLoad_MODE_SHARE_GROUP {
		return "share_group"
	}
	return "classic"
}

func readMode(load *typesv1.RoutineLoad, value string) error {
	switch strings.ToLower(value) {
	case "share_group":
		load.Mode = typesv1.RoutineLoad_MODE_SHARE_GROUP
	case "classic":
		load.Mode = typesv1.RoutineLoad_MODE_CLASSIC
	default:
		return refuse("load_mode should be classic or share_group, not '%s'", value)
	}
	return nil
}

func formatName(format typesv1.RoutineLoad_Format) string {
	if format == typesv1.RoutineLoad_FORMAT_JSON {
		return "json"
	}
	return "csv"
}

func readFormat(load *typesv1.RoutineLoad, value string) error {
	switch strings.ToLower(value) {
	case "csv":
		load.Format = typesv1.RoutineLoad_FORMAT_CSV
	case "json":
		load.Format = typesv1.RoutineLoad_FORMAT_JSON
	default:
		return refuse("Format type is invalid: format should be csv or json, not '%s'", value)
	}
	return nil
}

func readFilterRatio(load *typesv1.RoutineLoad, value string) error {
	ratio, err := strconv.ParseFloat(value, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return refuse("max_filter_ratio should be between 0 and 1, not '%s'", value)
	}
	load.MaxFilterRatio = ratio
	return nil
}

func showFilterRatio(load *typesv1.RoutineLoad) string {
	return strconv.FormatFloat(load.MaxFilterRatio, 'f', -1, 64)
}

func readZone(load *typesv1.RoutineLoad, value string) error {
	name, err := timezone.Normal(value)
	if err != nil {
		return unknownTimeZone(value)
	}
	load.Timezone = name
	return nil
}

func readOutOfRange(load *typesv1.RoutineLoad, value string) error {
	switch strings.ToLower(value) {
	case "pause":
		load.SkipExpired = false
	case "skip":
		load.SkipExpired = true
	default:
		return refuse("out_of_range should be pause or skip, not '%s'", value)
	}
	return nil
}

func showOutOfRange(load *typesv1.RoutineLoad) string {
	if load.SkipExpired {
		return "skip"
	}
	return "pause"
}

// oneByte reads enclose or escape.
func oneByte(key string, field func(*typesv1.RoutineLoad) *string) func(*typesv1.RoutineLoad, string) error {
	return func(load *typesv1.RoutineLoad, value string) error {
		switch {
		case len(value) > 1:
			return refuse("%s should be one character of ASCII, not '%s'", key, value)
		case value == "\n" || value == "\r" || value == "\x00":
			return refuse("%s should not be the end of a line or NUL", key)
		}
		*field(load) = value
		return nil
	}
}

// checkQuotes refuses enclose and escape that rows could not be split with.
func (d *Definition) checkQuotes() error {
	load := d.Load
	separator := Separator(load)
	for _, p := range []Value{{"enclose", load.Enclose}, {"escape", load.Escape}} {
		if p.Value != "" && strings.Contains(separator, p.Value) {
			return refuse("%s = '%s' is part of the separator '%s' of COLUMNS TERMINATED BY: fields could not be told apart", p.Key, p.Value, separator)
		}
	}
	return nil
}

// Separator is what ends fields of CSV: a tab if nothing was said.
func Separator(load *typesv1.RoutineLoad) string {
	if load.ColumnSeparator == "" {
		return "\t"
	}
	return load.ColumnSeparator
}

// readPaths reads jsonpaths, a JSON array of paths.
func readPaths(load *typesv1.RoutineLoad, value string) error {
	load.JsonPaths = nil
	if value == "" {
		return nil
	}
	if _, err := jsonpath.CompileList(value); err != nil {
		return refuse("%v", err)
	}
	return json.Unmarshal([]byte(value), &load.JsonPaths)
}

func showPaths(load *typesv1.RoutineLoad) string {
	if len(load.JsonPaths) == 0 {
		return ""
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(load.JsonPaths); err != nil {
		return "" // never: text
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func readRoot(load *typesv1.RoutineLoad, value string) error {
	if value != "" {
		if _, err := jsonpath.Compile(value); err != nil {
			return refuse("json_root: %v", err)
		}
	}
	load.JsonRoot = value
	return nil
}

func readDeadLetters(load *typesv1.RoutineLoad, value string) error {
	if value != "" {
		if err := checkTopic("dead_letter_topic", value); err != nil {
			return err
		}
	}
	load.DeadLetterTopic = value
	return nil
}

// checkDeadLetters refuses to feed a job its own error rows.
func (d *Definition) checkDeadLetters() error {
	if d.Load.DeadLetterTopic != "" && d.Load.DeadLetterTopic == d.Load.Topic {
		return refuse("dead_letter_topic '%s' is the topic that the job reads", d.Load.DeadLetterTopic)
	}
	return nil
}
