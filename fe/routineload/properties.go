package routineload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"shoal/fe/errno"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
)

// Defaults and ranges of job properties (Doris, CREATE ROUTINE LOAD).
const (
	defaultBatchIntervalS = 60
	defaultBatchRows      = 20_000_000
	minBatchRows          = 200_000
	defaultBatchSize      = 1 << 30
	minBatchSize          = 100 << 20
	maxBatchSize          = 10 << 30
	// share_linger_ms is ours: how long a txn waits for more on a topic that
	// has become quiet.
	defaultLingerMs = 200
	maxLingerMs     = 60_000
	// maxBatchIntervalS fits a duration; Doris has no limit.
	maxBatchIntervalS = 1 << 31
	noLimit           = 1 << 62
)

// jobProperties are those that are carried out, by key.
var jobProperties = map[string]func(load *typesv1.RoutineLoad, value string) error{
	"load_mode":                 setMode,
	"format":                    setFormat,
	"desired_concurrent_number": whole("desired_concurrent_number", 1, noLimit, func(l *typesv1.RoutineLoad) *int64 { return &l.DesiredConcurrentNumber }),
	"max_error_number":          whole("max_error_number", 0, noLimit, func(l *typesv1.RoutineLoad) *int64 { return &l.MaxErrorNumber }),
	"max_batch_interval":        whole("max_batch_interval", 1, maxBatchIntervalS, func(l *typesv1.RoutineLoad) *int64 { return &l.MaxBatchIntervalS }),
	"max_batch_rows":            whole("max_batch_rows", minBatchRows, noLimit, func(l *typesv1.RoutineLoad) *int64 { return &l.MaxBatchRows }),
	"max_batch_size":            whole("max_batch_size", minBatchSize, maxBatchSize, func(l *typesv1.RoutineLoad) *int64 { return &l.MaxBatchSize }),
	"share_linger_ms":           whole("share_linger_ms", 0, maxLingerMs, func(l *typesv1.RoutineLoad) *int64 { return &l.ShareLingerMs }),
	"max_filter_ratio":          setFilterRatio,
	"strict_mode":               setStrictMode,
	"timezone":                  setTimezone,
}

// notYet are Doris's other job properties with their defaults. A default asks
// for nothing and is taken; any other value is refused.
var notYet = map[string]string{
	"exec_mem_limit": "2147483648", "send_batch_parallelism": "1", "load_to_single_tablet": "false",
	"partial_columns": "false", "unique_key_update_mode": "upsert", "partial_update_new_key_behavior": "append",
	"workload_group": "", "jsonpaths": "", "json_root": "", "strip_outer_array": "false", "num_as_string": "false",
	"fuzzy_parse": "false", "enclose": "", "escape": "", "empty_field_as_null": "false",
}

// refuse is an error as Doris wraps those of its statements.
func refuse(format string, args ...any) error {
	return errno.New(errno.Unknown, "errCode = 2, detailMessage = "+format, args...)
}

// unsupported refuses what is Doris's and not carried out here yet.
func unsupported(format string, args ...any) error {
	return errno.New(errno.NotSupportedYet, format, args...)
}

// readJobProperties fills in PROPERTIES. An empty value asks for the default.
// Keys match in any case.
func readJobProperties(load *typesv1.RoutineLoad, properties ast.Properties) error {
	load.JobProperties = make(map[string]string, len(properties))
	load.MaxFilterRatio, load.MaxBatchIntervalS, load.MaxBatchRows = 1, defaultBatchIntervalS, defaultBatchRows
	load.MaxBatchSize, load.ShareLingerMs, load.Format = defaultBatchSize, defaultLingerMs, typesv1.RoutineLoad_FORMAT_CSV
	for _, p := range properties {
		key, value := strings.ToLower(p.Key), strings.TrimSpace(p.Value)
		load.JobProperties[key] = p.Value
		set, known := jobProperties[key]
		otherwise, later := notYet[key]
		switch {
		case known && value != "":
			if err := set(load, value); err != nil {
				return err
			}
		case later && value != "" && !strings.EqualFold(value, otherwise):
			return unsupported("Job property '%s' = '%s' is not supported yet", key, value)
		case !known && !later:
			return refuse("Invalid job property '%s'; known are %s", p.Key, strings.Join(slices.Sorted(maps.Keys(jobProperties)), ", "))
		}
	}
	if load.Mode != typesv1.RoutineLoad_MODE_SHARE_GROUP {
		return unsupported(`Job property 'load_mode' = 'classic', which is the default, is not supported yet: set "load_mode" = "share_group"`)
	}
	return nil
}

// whole reads a number in a range, both ends included.
func whole(key string, low, high int64, field func(*typesv1.RoutineLoad) *int64) func(*typesv1.RoutineLoad, string) error {
	return func(load *typesv1.RoutineLoad, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < low || n > high {
			limits := fmt.Sprintf("between %d and %d", low, high)
			if high == noLimit {
				limits = fmt.Sprintf(">= %d", low)
			}
			return refuse("%s should be a number %s, not '%s'", key, limits, value)
		}
		*field(load) = n
		return nil
	}
}

func setMode(load *typesv1.RoutineLoad, value string) error {
	switch strings.ToLower(value) {
	case "share_group":
		load.Mode = typesv1.RoutineLoad_MODE_SHARE_GROUP
	case "classic":
		load.Mode = typesv1.RoutineLoad_MODE_CLASSIC
	default:
		return refuse("load_mode should be share_group or classic, not '%s'", value)
	}
	return nil
}

func setFormat(load *typesv1.RoutineLoad, value string) error {
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

func setFilterRatio(load *typesv1.RoutineLoad, value string) error {
	ratio, err := strconv.ParseFloat(value, 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		return refuse("max_filter_ratio should be between 0 and 1, not '%s'", value)
	}
	load.MaxFilterRatio = ratio
	return nil
}

func setStrictMode(load *typesv1.RoutineLoad, value string) error {
	switch strings.ToLower(value) {
	case "true":
		load.StrictMode = true
	case "false":
		load.StrictMode = false
	default:
		return refuse("strict_mode should be true or false, not '%s'", value)
	}
	return nil
}

func setTimezone(load *typesv1.RoutineLoad, value string) error {
	name, err := zoneName(value)
	load.Timezone = name
	return err
}

// zoneName is a time zone under a name that every backend knows: a region, or
// for an offset of whole hours the zone that IANA has for it. Other offsets
// have none and are refused.
func zoneName(value string) (string, error) {
	switch {
	case strings.EqualFold(value, "SYSTEM"), strings.EqualFold(value, "UTC"):
		return "UTC", nil
	case value == "CST":
		return "Asia/Shanghai", nil // as Doris reads it
	case strings.HasPrefix(value, "+"), strings.HasPrefix(value, "-"):
		at, err := time.Parse("15:04", value[1:])
		if err != nil || at.Minute() != 0 {
			return "", errno.New(errno.UnknownTimeZone, "Unknown or incorrect time zone: '%.64s'; for offsets that are no whole hours give the region's name", value)
		}
		sign := map[byte]string{'+': "-", '-': "+"}[value[0]] // Etc/GMT counts the other way
		value = fmt.Sprintf("Etc/GMT%s%d", sign, at.Hour())
	}
	if _, err := time.LoadLocation(value); err != nil || value == "" || value == "Local" {
		return "", errno.New(errno.UnknownTimeZone, "Unknown or incorrect time zone: '%.64s'", value)
	}
	return value, nil
}
