package session

import (
	"strings"
	"time"
	_ "time/tzdata" // SET time_zone must not depend on the host's files

	"shoal/fe/errno"
	"shoal/fe/literal"
)

// QueryTimeout is how long a statement may run, the shorter of query_timeout,
// max_statement_time and max_execution_time; 0 is without end.
func (s *Session) QueryTimeout() time.Duration {
	limit := s.duration("query_timeout", time.Second)
	for _, other := range []time.Duration{
		s.duration("max_statement_time", time.Second),
		s.duration("max_execution_time", time.Millisecond),
	} {
		if other > 0 && (limit == 0 || other < limit) {
			limit = other
		}
	}
	return limit
}

// IdleTimeout is how long the connection may wait for its next command.
func (s *Session) IdleTimeout() time.Duration { return s.duration("wait_timeout", time.Second) }

// WriteTimeout is how long the client may leave a block of rows unread.
func (s *Session) WriteTimeout() time.Duration { return s.duration("net_write_timeout", time.Second) }

// SelectLimit is how many rows a SELECT without LIMIT may return.
func (s *Session) SelectLimit() uint64 {
	n, _ := s.values["sql_select_limit"].Whole()
	return n
}

// Location is the session's time zone.
func (s *Session) Location() *time.Location {
	loc, err := parseTimeZone(s.values["time_zone"].Text())
	if err != nil {
		return time.UTC // never: Set has checked it
	}
	return loc
}

func (s *Session) duration(name string, unit time.Duration) time.Duration {
	n, _ := s.values[name].Whole()
	return time.Duration(n) * unit
}

func (s *Session) isOn(name string) bool { return s.values[name] == boolValue(true) }

func checkedTimeZone(value literal.Value) (literal.Value, error) {
	if _, err := parseTimeZone(value.Text()); err != nil {
		return value, err
	}
	return literal.String(value.Text()), nil
}

// parseTimeZone reads SYSTEM (which is UTC), an offset from -13:59 to +14:00,
// or a zone's name. Others are error 1298.
func parseTimeZone(name string) (*time.Location, error) {
	unknown := errno.New(errno.UnknownTimeZone, "Unknown or incorrect time zone: '%.64s'", name)
	switch {
	case strings.EqualFold(name, "SYSTEM"):
		return time.UTC, nil
	case name == "" || strings.EqualFold(name, "Local"):
		return nil, unknown // known to Go only
	case name[0] == '+' || name[0] == '-':
		offset, ok := parseOffset(name[1:])
		if name[0] == '-' {
			offset = -offset
		}
		if !ok || offset < -(13*60+59) || offset > 14*60 {
			return nil, unknown
		}
		return time.FixedZone(name, offset*60), nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, unknown
	}
	return loc, nil
}

// parseOffset reads h:mm or hh:mm, in minutes.
func parseOffset(s string) (int, bool) {
	t, err := time.Parse("15:04", s)
	return t.Hour()*60 + t.Minute(), err == nil
}
