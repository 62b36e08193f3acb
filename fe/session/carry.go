package session

import (
	"maps"

	"shoal/fe/literal"
)

// Carried is what a session takes along when another frontend carries out a
// statement of it: the system variables that are not as a fresh frontend has
// them, and the user variables.
type Carried struct{ Variables, UserVariables map[string]literal.Value }

// Carry is what the session takes along.
func (s *Session) Carry() Carried {
	c := Carried{Variables: map[string]literal.Value{}, UserVariables: s.userVars}
	for name, value := range s.values {
		if value != variables[name].initial {
			c.Variables[name] = value
		}
	}
	return c
}

// Adopt makes the variables of a new session those of one on another frontend.
// Variables that this release does not know are left out.
func (s *Session) Adopt(c Carried) {
	for name, v := range variables {
		s.values[name] = v.initial
		if value, ok := c.Variables[name]; ok {
			s.values[name] = value
		}
	}
	maps.Copy(s.userVars, c.UserVariables)
}
