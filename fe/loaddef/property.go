package loaddef

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/nearest"
)

// property is a job property.
type property struct {
	key string
	// otherwise is what holds if it is not given, or given as empty.
	otherwise string
	// read puts a value into the definition.
	read func(load *typesv1.RoutineLoad, value string) error
	// show is the value in effect, as read takes it; empty where there is none.
	show func(load *typesv1.RoutineLoad) string
	// Set where it only concerns jobs of one format or mode.
	format typesv1.RoutineLoad_Format
	mode   typesv1.RoutineLoad_Mode
	// fixed properties cannot be altered.
	fixed bool
	// Why a value other than the default has no effect here; empty if it has.
	inert string
}

// concerns tells whether the property is about jobs like this one.
func (p property) concerns(load *typesv1.RoutineLoad) bool {
	return (p.format == 0 || p.format == load.Format) && (p.mode == 0 || p.mode == load.Mode)
}

// elsewhere are keys that people look for among the job properties, and where
// what they want is.
var elsewhere = map[string]string{
	"column_separator":          "the clause COLUMNS TERMINATED BY sets it",
	"line_delimiter":            "rows end at a newline",
	"columns":                   "it is a clause, COLUMNS(…), before PROPERTIES",
	"where":                     "it is a clause before PROPERTIES",
	"read_json_by_line":         "each message is one JSON document",
	"compress_type":             "compressed batches of Kafka are read without it",
	"enable_text_validate_utf8": "text is always checked",
}

// readJobProperties reads PROPERTIES over what is there. Keys match in any
// case. permit is asked before each is read.
func (d *Definition) readJobProperties(properties ast.Properties, target *Target, permit func(property) error) error {
	var given []property
	for _, have := range properties {
		key, value := strings.ToLower(have.Key), have.Value
		if trimmed := strings.TrimSpace(value); trimmed != "" {
			value = trimmed // a blank alone may be meant: enclose
		}
		i := slices.IndexFunc(jobProperties, func(p property) bool { return p.key == key })
		if i < 0 {
			return unknownJobProperty(have.Key)
		}
		p := jobProperties[i]
		if err := permit(p); err != nil {
			return err
		}
		if value == "" {
			value = d.otherwise(p)
		}
		if err := p.read(d.Load, value); err != nil {
			return err
		}
		if p.inert != "" && p.show(d.Load) != p.otherwise {
			d.note(fmt.Sprintf("%s = '%s' has no effect: %s", p.key, value, p.inert))
		}
		given = append(given, p)
	}
	if d.Load.JobProperties["load_to_single_tablet"] == "true" && (target == nil || !target.Random) {
		return refuse("load_to_single_tablet should be false: it is for tables that are DISTRIBUTED BY RANDOM")
	}
	return d.checkConcern(given)
}

// otherwise is the default of a property.
func (d *Definition) otherwise(p property) string {
	if p.key == "timezone" {
		return d.zone
	}
	return p.otherwise
}

// checkConcern refuses properties for jobs of the other format or mode, which
// would do nothing.
func (d *Definition) checkConcern(given []property) error {
	for _, p := range given {
		switch value := p.show(d.Load); {
		case p.concerns(d.Load), value == p.otherwise:
		case p.format != 0 && p.format != d.Load.Format:
			return refuse(`%s is for "format" = "%s"; the job's format is %s`, p.key, formatName(p.format), formatName(d.Load.Format))
		default:
			return refuse(`%s is for "load_mode" = "%s"; the job's mode is %s`, p.key, modeName(p.mode), modeName(d.Load.Mode))
		}
	}
	return nil
}

func unknownJobProperty(key string) error {
	lower := strings.ToLower(key)
	if why, ok := elsewhere[lower]; ok {
		return refuse("Invalid job property '%s': %s", key, why)
	}
	if slices.Contains(sourceKeys(), lower) || strings.HasPrefix(lower, "property.") {
		return refuse("Invalid job property '%s': it belongs into FROM KAFKA (…)", key)
	}
	var keys []string
	for _, p := range jobProperties {
		keys = append(keys, p.key)
	}
	if hint := nearest.Hint(key, keys); hint != "" {
		return refuse("Invalid job property '%s'%s", key, hint)
	}
	return refuse("Invalid job property '%s'; known are %s", key, strings.Join(keys, ", "))
}

// A Value is a property with its value in effect.
type Value struct{ Key, Value string }

// Values is every job property that concerns a job, as it is in effect.
func Values(load *typesv1.RoutineLoad) []Value {
	var out []Value
	for _, p := range jobProperties {
		if p.concerns(load) {
			out = append(out, Value{p.key, p.show(load)})
		}
	}
	return out
}

// noLimit is a range without an upper end.
const noLimit = math.MaxInt64 >> 1

// number is a property with a whole number between low and high, both included.
func number[N int32 | int64](key, otherwise string, low, high int64, field func(*typesv1.RoutineLoad) *N) property {
	return property{
		key: key, otherwise: otherwise,
		read: func(load *typesv1.RoutineLoad, value string) error {
			n, err := parseNumber(key, value, low, high)
			if value == "" {
				n, err = 0, nil
			}
			*field(load) = N(n)
			return err
		},
		show: func(load *typesv1.RoutineLoad) string {
			if n := *field(load); n != 0 || otherwise != "" {
				return strconv.FormatInt(int64(n), 10)
			}
			return ""
		},
	}
}

func parseNumber(key, value string, low, high int64) (int64, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < low || n > high {
		limits := fmt.Sprintf("between %d and %d", low, high)
		if high == noLimit {
			limits = fmt.Sprintf(">= %d", low)
		}
		return 0, refuse("%s should be a number %s, not '%s'", key, limits, value)
	}
	return n, nil
}

// boolean is a property that is true or false, and false if it is not given.
func boolean(key string, field func(*typesv1.RoutineLoad) *bool) property {
	return property{
		key: key, otherwise: "false",
		read: func(load *typesv1.RoutineLoad, value string) error {
			return parseBool(key, value, field(load))
		},
		show: func(load *typesv1.RoutineLoad) string { return strconv.FormatBool(*field(load)) },
	}
}

func parseBool(key, value string, out *bool) error {
	switch strings.ToLower(value) {
	case "true":
		*out = true
	case "false":
		*out = false
	default:
		return refuse("%s should be true or false, not '%s'", key, value)
	}
	return nil
}

// kept is a property of Doris's that nothing is done by: its value is checked
// and kept to be shown.
func kept(key, otherwise, why string, check func(value string) error) property {
	return property{
		key: key, otherwise: otherwise, inert: why, fixed: true,
		read: func(load *typesv1.RoutineLoad, value string) error {
			if strings.EqualFold(value, otherwise) {
				delete(load.JobProperties, key)
				return nil
			}
			if err := check(value); err != nil {
				return err
			}
			load.JobProperties[key] = strings.ToLower(value)
			return nil
		},
		show: func(load *typesv1.RoutineLoad) string {
			if value, ok := load.JobProperties[key]; ok {
				return value
			}
			return otherwise
		},
	}
}

// later is a property of Doris's of which only some values, the first the
// default, can be had so far.
func later(key, why string, taken ...string) property {
	return property{
		key: key, otherwise: taken[0], inert: why,
		read: func(_ *typesv1.RoutineLoad, value string) error {
			if indexFold(taken, value) >= 0 {
				return nil
			}
			return unsupported("Job property '%s' = '%s' is not supported yet: %s", key, value, why)
		},
		show: func(*typesv1.RoutineLoad) string { return taken[0] },
	}
}

// as changes a property.
func (p property) as(change func(*property)) property {
	change(&p)
	return p
}
