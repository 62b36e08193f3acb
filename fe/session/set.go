package session

import (
	"fmt"
	"slices"
	"strings"

	"shoal/fe/errno"
	"shoal/fe/literal"
)

// A Scope is where a variable is read or set.
type Scope uint8

const (
	SessionScope Scope = iota
	GlobalScope
)

// A Setting is one row of SHOW VARIABLES.
type Setting struct{ Name, Value string }

// Get is the value of a system variable, 1 or 0 for ON and OFF. Names ignore
// case. An unknown one is error 1193.
func (s *Session) Get(scope Scope, name string) (literal.Value, error) {
	name, _, err := lookup(name)
	if err != nil {
		return literal.Null(), err
	}
	if f, ok := computed[name]; ok {
		return literal.Int(f(s)), nil
	}
	if scope == GlobalScope {
		return s.globals.get(name), nil
	}
	return s.values[name], nil
}

// Set sets a system variable after checking the value: 1193 for an unknown
// one, 1238 for a read-only one, 1231 or 1232 and others for a value that does
// not fit. A number out of range becomes the nearest one, with a warning. A
// GLOBAL value is for sessions that begin later.
func (s *Session) Set(scope Scope, name string, value literal.Value) error {
	name, v, err := lookupSettable(name)
	if err != nil {
		return err
	}
	value, err = s.checked(name, v, value)
	if err != nil {
		return err
	}
	s.store(scope, name, value)
	return nil
}

// SetDefault is SET name = DEFAULT: a session's value becomes the global one,
// a global one that of a fresh frontend.
func (s *Session) SetDefault(scope Scope, name string) error {
	name, v, err := lookupSettable(name)
	if err != nil {
		return err
	}
	value := v.initial
	if scope == SessionScope {
		value = s.globals.get(name)
	}
	s.store(scope, name, value)
	return nil
}

// Variables lists all system variables by name, as SHOW VARIABLES does.
func (s *Session) Variables(scope Scope) []Setting {
	names := make([]string, 0, len(variables)+len(aliases))
	for name := range variables {
		names = append(names, name)
	}
	for name := range aliases {
		names = append(names, name)
	}
	slices.Sort(names)
	settings := make([]Setting, len(names))
	for i, name := range names {
		_, v, _ := lookup(name)
		value, _ := s.Get(scope, name)
		settings[i] = Setting{name, shown(v, value)}
	}
	return settings
}

// shown is a value in SHOW's spelling.
func shown(v variable, value literal.Value) string {
	if v.form != formBool {
		return value.Text()
	}
	if value == boolValue(true) {
		return "ON"
	}
	return "OFF"
}

func (s *Session) store(scope Scope, name string, value literal.Value) {
	if scope == GlobalScope {
		s.globals.set(name, value)
		return
	}
	s.values[name] = value
	if name == "collation_connection" {
		s.values["character_set_connection"] = literal.String(charsetOf(value.Text()))
	}
	if name == "character_set_connection" {
		s.values["collation_connection"] = literal.String(charsets[value.Text()])
	}
}

func (s *Session) checked(name string, v variable, value literal.Value) (literal.Value, error) {
	switch v.form {
	case formInt:
		return s.checkedInt(name, v, value)
	case formBool:
		return checkedBool(name, value)
	case formResults:
		if value.IsNull() {
			return value, nil
		}
		return checkedCharset(value)
	case formCharset:
		return checkedCharset(value)
	case formCollation:
		return checkedCollation(value)
	case formTimeZone:
		return checkedTimeZone(value)
	case formIsolation:
		return checkedIsolation(name, value)
	}
	if value.IsNull() {
		return value, wrongValue(name, value)
	}
	return literal.String(value.Text()), nil
}

func (s *Session) checkedInt(name string, v variable, value literal.Value) (literal.Value, error) {
	n, ok := value.Whole()
	if !ok {
		return value, errno.New(errno.WrongTypeForVariable, "Incorrect argument type to variable '%s'", name)
	}
	if in := min(max(n, v.least), v.most); in != n {
		s.Warn(LevelWarning, errno.TruncatedValue, fmt.Sprintf("Truncated incorrect %s value: '%d'", name, n))
		n = in
	}
	return wholeValue(n), nil
}

func checkedBool(name string, value literal.Value) (literal.Value, error) {
	switch strings.ToUpper(value.Text()) {
	case "1", "ON", "TRUE":
		return boolValue(true), nil
	case "0", "OFF", "FALSE":
		return boolValue(false), nil
	}
	return value, wrongValue(name, value)
}

func checkedIsolation(name string, value literal.Value) (literal.Value, error) {
	level := strings.ToUpper(value.Text())
	switch level {
	case "READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE":
		return literal.String(level), nil
	}
	return value, wrongValue(name, value)
}

func wrongValue(name string, value literal.Value) error {
	text := value.Text()
	if value.IsNull() {
		text = "NULL"
	}
	return errno.New(errno.WrongValueForVariable, "Variable '%s' can't be set to the value of '%.80s'", name, text)
}

// lookup finds a variable and its first name.
func lookup(name string) (string, variable, error) {
	first := strings.ToLower(name)
	if a, ok := aliases[first]; ok {
		first = a
	}
	v, ok := variables[first]
	if !ok {
		return "", v, errno.New(errno.UnknownSystemVariable, "Unknown system variable '%.64s'", name)
	}
	return first, v, nil
}

func lookupSettable(name string) (string, variable, error) {
	first, v, err := lookup(name)
	if err == nil && v.readOnly {
		err = errno.New(errno.ReadOnlyVariable, "Variable '%s' is a read only variable", first)
	}
	return first, v, err
}
