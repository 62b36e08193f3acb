// Package errno is the numbers, SQLSTATEs and texts that a failure has in
// MySQL's protocol.
//
// Clients act on the number and the SQLSTATE, so both are part of Shoal's
// interface: SQLAlchemy decides by 1146 whether a table exists, JDBC drivers
// choose the class of their exception by SQLSTATE. A package that can fail in
// front of a user either returns sentinels which fe/stmt maps to a Code, or
// makes an Error here itself. Only the connection loop of fe/wire turns an
// error into bytes, by From; what nobody classified leaves as 1105 without
// detail, and its cause goes to the log.
//
// Everything here is immutable and safe for concurrent use.
package errno

import (
	"errors"
	"fmt"
)

// A Code is a MySQL error number with its SQLSTATE. Codes are errors, so that
// callers can ask errors.Is(err, errno.NoSuchTable).
type Code struct {
	Num         uint16
	State, name string
}

// Error is a short name of the kind of failure; it is never sent to clients.
func (c Code) Error() string { return c.name }

// An Error is a failure a client may see.
type Error struct {
	Code Code
	Msg  string // crosses the wire, never empty
	Err  error  // the cause; goes to the log and nowhere else
}

// Error is the message with its cause, for logs.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	return e.Msg + ": " + e.Err.Error()
}

// Unwrap lets errors.Is find the code as well as the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// New makes an error with a message for the client. It returns error, never
// *Error, so that a nil stays a nil interface.
func New(c Code, format string, args ...any) error {
	return Wrap(c, nil, format, args...)
}

// Wrap is New with a cause, which the client does not see.
func Wrap(c Code, cause error, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if msg == "" {
		// Shells print "Query OK" for an error without text.
		msg = c.name
	}
	return &Error{Code: c, Msg: msg, Err: cause}
}

// Relayed is a failure as another frontend classified it.
func Relayed(num uint16, state, msg string) error {
	return New(Code{num, state, "relayed error"}, "%s", msg)
}

// From finds the Error to send. Only the connection loop calls it. A bare Code
// is sent with its name as text; what nobody classified leaves as 1105,
// without detail. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if c, ok := errors.AsType[Code](err); ok {
		return &Error{Code: c, Msg: c.name, Err: err}
	}
	return &Error{Code: Unknown, Msg: "internal error; the frontend's log has the cause", Err: err}
}
