package engine

import (
	"fmt"
	"time"

	"shoal/sql/timezone"
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
// +08:00. Under an offset that no place has, DuckDB itself is in UTC: queries
// name the session's zone wherever MySQL's functions need it, and results are
// written in it; only a cast of DuckDB's own TIMESTAMPTZ is in UTC then.
func readZone(name string) (timeZone, error) {
	location, err := timezone.Load(name)
	if err != nil {
		return timeZone{}, &Error{Kind: Failed, Msg: fmt.Sprintf("Unknown or incorrect time zone: '%s'", name)}
	}
	name = location.String()
	if name[0] != '+' && name[0] != '-' {
		return timeZone{location, name}, nil
	}
	_, seconds := time.Time{}.In(location).Zone()
	hours := seconds / 3600
	switch place := oddOffsets[name]; {
	case place != "":
		return timeZone{location, place}, nil
	case seconds%3600 == 0 && -12 <= hours && hours <= 14:
		return timeZone{location, fmt.Sprintf("Etc/GMT%+d", -hours)}, nil
	}
	return timeZone{location, "UTC"}, nil
}

// Location is a time zone as MySQL spells it, UTC for one that Query refuses.
func Location(name string) *time.Location {
	zone, err := readZone(name)
	if err != nil {
		return time.UTC
	}
	return zone.location
}
