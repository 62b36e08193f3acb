// Package timezone reads time zones as MySQL and Doris spell them, so that a
// frontend and a backend mean the same by a name.
//
// The zones of the world are compiled in: no file of the machine is needed. It
// is pure and safe for concurrent use.
package timezone

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the zones of the world, wherever the process runs
)

// Most that an offset may be from UTC, in minutes: what MySQL permits.
const (
	west = 13*60 + 59
	east = 14 * 60
)

// Load reads a zone: a region of the IANA database, an offset such as +05:30,
// SYSTEM or nothing, which are UTC, or CST, which is China's as Doris has it.
// Clocks that change with the season are those of the region.
func Load(name string) (*time.Location, error) {
	switch {
	case name == "", strings.EqualFold(name, "SYSTEM"), strings.EqualFold(name, "UTC"), strings.EqualFold(name, "Z"):
		return time.UTC, nil
	case strings.EqualFold(name, "CST"):
		name = "Asia/Shanghai"
	case name[0] == '+' || name[0] == '-':
		return offset(name)
	}
	location, err := time.LoadLocation(name)
	if err != nil || location == time.Local {
		return nil, fmt.Errorf("unknown time zone '%.64s'", name)
	}
	return location, nil
}

// Normal is the one spelling of a zone that a definition is stored with: UTC,
// the region's name, or the offset with two digits of hours.
func Normal(name string) (string, error) {
	location, err := Load(name)
	if err != nil {
		return "", err
	}
	return location.String(), nil
}

// offset reads +h:mm or +hh:mm.
func offset(name string) (*time.Location, error) {
	at, err := time.Parse("15:04", name[1:])
	minutes := at.Hour()*60 + at.Minute()
	if name[0] == '-' {
		minutes = -minutes
	}
	if err != nil || minutes < -west || minutes > east {
		return nil, fmt.Errorf("'%.64s' is no offset between -13:59 and +14:00", name)
	}
	return time.FixedZone(fmt.Sprintf("%c%02d:%02d", name[0], at.Hour(), at.Minute()), minutes*60), nil
}
