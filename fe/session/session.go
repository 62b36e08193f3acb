// Package session is what one client connection carries from statement to
// statement: who it is, its database, system and user variables, warnings and
// transaction state; and, shared by all of a frontend's connections, the
// GLOBAL variables and the list of processes that KILL acts on.
//
// A Session belongs to the goroutine that carries out its statements and is
// not safe for concurrent use. What other connections may see or touch of it
// is its Process. Parsing of SET, SHOW and KILL is fe/stmt's; bytes are
// fe/wire's. The package starts no goroutines.
package session

import (
	"maps"
	"slices"
	"strings"

	"shoal/fe/errno"
	"shoal/fe/literal"
)

// maxWarnings is how many warnings a statement can leave, as MySQL's
// max_error_count.
const maxWarnings = 64

// Status bits of MySQL's protocol that follow from a session.
const (
	StatusInTransaction uint16 = 0x0001
	StatusAutocommit    uint16 = 0x0002
)

// A Session is the state of one connection.
type Session struct {
	ID         uint32 // the number that CONNECTION_ID() and KILL use
	User, Host string
	DB         string            // the current database, empty if none
	Attributes map[string]string // what the client says of itself

	// InTransaction is between BEGIN and COMMIT or ROLLBACK. Nothing is
	// transactional here, but drivers skip a COMMIT when the bit is off.
	InTransaction bool

	// Progress shows others how far the statement has come.
	Progress func(state string)

	RowCount  int64 // of the last statement: affected rows, -1 for a result set
	FoundRows int64 // rows that the last result set had

	globals  *Globals
	values   map[string]literal.Value // system variables by name
	userVars map[string]literal.Value // by lower-case name
	warnings []Warning
}

// New makes the session of a connection that has logged in. Its variables
// start with the values that the GLOBAL ones have now.
func New(id uint32, user, host string, globals *Globals) *Session {
	s := &Session{ID: id, User: user, Host: host, Progress: func(string) {}, globals: globals}
	s.Reset()
	return s
}

// Reset forgets all but identity and database, as COM_RESET_CONNECTION does.
func (s *Session) Reset() {
	s.InTransaction = false
	s.RowCount, s.FoundRows = 0, 0
	s.values = s.globals.copyValues()
	s.userVars = make(map[string]literal.Value)
	s.warnings = nil
}

// Clone is a copy that lives its own life, for a statement that goes on while
// the session carries out others: an open cursor.
func (s *Session) Clone() *Session {
	c := *s
	c.values = maps.Clone(s.values)
	c.userVars = maps.Clone(s.userVars)
	c.warnings = slices.Clone(s.warnings)
	return &c
}

// Status is the session's part of the status bits in every OK packet.
func (s *Session) Status() uint16 {
	var bits uint16
	if s.InTransaction {
		bits |= StatusInTransaction
	}
	if s.isOn("autocommit") {
		bits |= StatusAutocommit
	}
	return bits
}

// UserVar is the value of @name, NULL if it was never set. Names ignore case.
func (s *Session) UserVar(name string) literal.Value {
	return s.userVars[strings.ToLower(name)]
}

// SetUserVar sets @name.
func (s *Session) SetUserVar(name string, v literal.Value) {
	s.userVars[strings.ToLower(name)] = v
}

// Levels of a Warning, as SHOW WARNINGS spells them.
const (
	LevelNote    = "Note"
	LevelWarning = "Warning"
	LevelError   = "Error"
)

// A Warning is one row of SHOW WARNINGS.
type Warning struct {
	Level   string
	Code    errno.Code
	Message string
}

// Warn adds to the warnings of the current statement; beyond 64 it is dropped.
func (s *Session) Warn(level string, code errno.Code, message string) {
	if len(s.warnings) < maxWarnings {
		s.warnings = append(s.warnings, Warning{level, code, message})
	}
}

// Warnings are those of the last statement that was not a diagnostic one.
func (s *Session) Warnings() []Warning { return s.warnings }

// ClearWarnings starts a statement. SHOW WARNINGS and its like do not call it.
func (s *Session) ClearWarnings() { s.warnings = nil }

// countWarnings counts warnings, only errors if so asked.
func (s *Session) countWarnings(onlyErrors bool) int64 {
	var n int64
	for _, w := range s.warnings {
		if !onlyErrors || w.Level == LevelError {
			n++
		}
	}
	return n
}
