package decode

import (
	"bytes"
	"strings"
	"time"

	"shoal/sql/timezone"
)

// zones remembers the time zones that texts name, and what is none.
type zones struct{ known map[string]*time.Location }

const (
	maxZones = 1024 // that are remembered
	maxZone  = 64   // bytes of a name
)

// find answers the zone that a text names, in any case, or nil.
func (z *zones) find(name []byte) *time.Location {
	if len(name) > maxZone {
		return nil
	}
	if zone, ok := z.known[string(name)]; ok {
		return zone
	}
	zone := readZone(string(name))
	if z.known == nil || len(z.known) == maxZones {
		z.known = map[string]*time.Location{}
	}
	z.known[string(name)] = zone
	return zone
}

func readZone(name string) *time.Location {
	if name[0] == '+' || name[0] == '-' {
		if seconds, ok := parseOffset([]byte(name)); ok {
			return time.FixedZone(name, seconds)
		}
		return nil
	}
	switch strings.ToUpper(name) {
	case "Z", "UTC", "GMT", "ZULU":
		return time.UTC
	case "SYSTEM", "LOCAL":
		return nil
	}
	for i := range len(name) {
		if c := name[i]; !isLetter(c) && (i == 0 || !isDigit(c) && c != '/' && c != '_' && c != '-' && c != '+') {
			return nil
		}
	}
	if zone, err := timezone.Load(name); err == nil {
		return zone
	}
	zone, err := timezone.Load(titleCase(name))
	if err != nil {
		return nil
	}
	return zone
}

// titleCase spells a name as nearly all regions are: Africa/Porto-Novo.
func titleCase(name string) string {
	b := []byte(strings.ToLower(name))
	for i := range b {
		if i == 0 || bytes.IndexByte([]byte("/_-"), b[i-1]) >= 0 {
			b[i] = b[i] &^ 0x20
		}
	}
	return string(b)
}

// parseOffset reads a sign, hours of one or two digits, and perhaps minutes of
// two, after a colon or not: at most 14 hours, with minutes that zones have. It
// answers seconds east of UTC.
func parseOffset(s []byte) (seconds int, ok bool) {
	digits := s[1:]
	if colon := len(digits) - 3; colon > 0 && digits[colon] == ':' {
		digits = append(bytes.Clone(digits[:colon]), digits[colon+1:]...)
		if len(digits) < 3 {
			return 0, false
		}
	}
	if len(digits) == 0 || len(digits) > 4 || skipDigits(digits, 0) != len(digits) {
		return 0, false
	}
	hours, minutes := 0, 0
	if n := len(digits); n > 2 {
		minutes, digits = number2(digits[n-2:]), digits[:n-2]
	}
	for _, c := range digits {
		hours = hours*10 + int(c-'0')
	}
	if hours > 14 || hours == 14 && minutes > 0 || minutes != 0 && minutes != 30 && minutes != 45 {
		return 0, false
	}
	seconds = hours*3600 + minutes*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}
