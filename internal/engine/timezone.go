package engine

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the zones of the world, wherever the process runs
)

// timeZone is a session's time zone, for us and as DuckDB spells it.
type timeZone struct {
	location *time.Location
	duckDB   string
}

// oddOffsets are zones of a constant offset that is not a whole hour: DuckDB
// knows such offsets only by the name of a place.
var oddOffsets = map[string]string{
	"-09:30": "Pacific/Marquesas", "+03:30": "Asia/Tehran", "+04:30": "Asia/Kabul", "+05:30": "Asia/Kolkata", "+05:45": "Asia/Kathmandu",
	"+06:30": "Asia/Yangon", "+08:45": "Australia/Eucla", "+09:30": "Australia/Darwin",
}

// readZone reads a time zone as MySQL spells it: a name, or an offset such as
// +08:00. SYSTEM and nothing are UTC.
func readZone(name string) (timeZone, error) {
	if name == "" || strings.EqualFold(name, "SYSTEM") {
		return timeZone{time.UTC, "UTC"}, nil
	}
	if t, err := time.Parse("-07:00", name); err == nil {
		_, seconds := t.Zone()
		location := time.FixedZone(name, seconds)
		if place, ok := oddOffsets[name]; ok {
			return timeZone{location, place}, nil
		}
		if hours := seconds / 3600; seconds%3600 == 0 && -12 <= hours && hours <= 14 {
			return timeZone{location, fmt.Sprintf("Etc/GMT%+d", -hours)}, nil
		}
		return timeZone{}, &Error{Kind: Failed, Msg: fmt.Sprintf("time zone %s is an offset that no place has: use the name of one", name)}
	}
	location, err := time.LoadLocation(name)
	if err != nil || location == time.Local {
		return timeZone{}, &Error{Kind: Failed, Msg: fmt.Sprintf("Unknown or incorrect time zone: '%s'", name)}
	}
	return timeZone{location, name}, nil
}

// Location is a time zone as MySQL spells it, UTC for one that Query refuses.
func Location(name string) *time.Location {
	zone, err := readZone(name)
	if err != nil {
		return time.UTC
	}
	return zone.location
}
