package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"shoal/internal/engine/native"
)

// ErrorKind is what is wrong with a query.
type ErrorKind uint8

// The kinds of errors. Failed is everything that has no kind of its own, such
// as a cast that cannot be done.
const (
	Failed ErrorKind = iota
	Syntax
	Refused // well-formed, and not allowed or not supported
	UnknownTable
	UnknownColumn
	OutOfMemory
	UnknownFunction
)

// Error is an error that the writer of the query can do something about.
type Error struct {
	Kind ErrorKind
	Msg  string
	Pos  int // of a syntax error: byte offset in the SQL
}

// Error returns the message.
func (e *Error) Error() string { return e.Msg }

// classify turns an error of DuckDB into an Error, unless the query was
// stopped: then into the reason for that.
func classify(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var duck *native.Error
	if !errors.As(err, &duck) {
		return &Error{Kind: Failed, Msg: err.Error()}
	}
	kind, msg := kindOf(duck.Msg), firstLine(duck.Msg)
	switch name, quoted := lastQuoted(duck.Msg); {
	case kind == UnknownColumn && quoted:
		msg = fmt.Sprintf("Unknown column '%s' in 'field list'", name)
	case kind == OutOfMemory:
		msg = "the query needs more memory than one may use here: " + msg
	case kind == UnknownFunction:
		_, rest, _ := strings.Cut(msg, unknownFunction)
		name, _, _ := strings.Cut(rest, " ")
		msg = fmt.Sprintf("FUNCTION %s does not exist", name)
	}
	return &Error{Kind: kind, Msg: msg}
}

// unknownFunction is what DuckDB says before the name of one.
const unknownFunction = "Function with name "

// lastQuoted returns the last name in double quotes of the first line.
func lastQuoted(msg string) (string, bool) {
	parts := strings.Split(firstLine(msg), `"`)
	if len(parts) < 3 {
		return "", false
	}
	return parts[len(parts)-2], true
}

// kindOf reads the kind of an error of DuckDB off its message: some errors
// come as nothing else.
func kindOf(msg string) ErrorKind {
	kind, _, _ := strings.Cut(msg, " Error: ")
	switch kind {
	case "Parser", "Syntax":
		return Syntax
	case "Out of Memory":
		return OutOfMemory
	case "Permission":
		return Refused
	case "Catalog":
		if strings.Contains(msg, "Table with name") {
			return UnknownTable
		}
		if strings.Contains(firstLine(msg), unknownFunction) {
			return UnknownFunction
		}
	case "Binder":
		if strings.Contains(msg, "Referenced column") || strings.Contains(msg, "does not have a column named") {
			return UnknownColumn
		}
	}
	return Failed
}

// firstLine drops DuckDB's picture of the statement and its advice, which name
// things the user cannot see, and its own word for the kind of error.
func firstLine(msg string) string {
	line, _, _ := strings.Cut(msg, "\n")
	if kind, rest, found := strings.Cut(line, " Error: "); found && !strings.ContainsAny(kind, "'\"") {
		return rest
	}
	return line
}
