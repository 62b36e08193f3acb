// Package native is the part of DuckDB's C interface that the engine needs: an
// instance with one connection, statements, and results that stream. The
// database/sql driver has whole results only.
//
// Handles are the package's own: each is freed on every path, and Close of a
// DB or a Result frees what is left of it. Results hand out vectors, DuckDB's
// own memory; they are valid until the result moves on.
//
// A DB and all that comes from it belong to one goroutine at a time; Interrupt
// alone may be called from another, until Close. No goroutines are started;
// DuckDB's threads end in Close.
package native

import (
	"errors"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// Error is an error of DuckDB, in its words: the kind, " Error: ", the rest.
type Error struct{ Msg string }

// Error returns the message.
func (e *Error) Error() string { return e.Msg }

// DB is an in-memory instance with one connection.
type DB struct {
	database bindings.Database
	conn     bindings.Connection
}

// Open opens an instance with settings, as SET has them, that hold from the
// start.
func Open(settings map[string]string) (*DB, error) {
	var config bindings.Config
	if bindings.CreateConfig(&config) == bindings.StateError {
		return nil, errors.New("DuckDB has no memory for a configuration")
	}
	defer bindings.DestroyConfig(&config)
	for name, value := range settings {
		if bindings.SetConfig(config, name, value) == bindings.StateError {
			return nil, &Error{"DuckDB does not know the setting " + name}
		}
	}
	db := &DB{}
	var msg string
	if bindings.OpenExt("", &db.database, config, &msg) == bindings.StateError {
		bindings.Close(&db.database)
		return nil, &Error{msg}
	}
	if bindings.Connect(db.database, &db.conn) == bindings.StateError {
		db.Close()
		return nil, &Error{"DuckDB gives no connection"}
	}
	return db, nil
}

// Close ends the instance. Results must have been closed.
func (db *DB) Close() {
	bindings.Disconnect(&db.conn)
	bindings.Close(&db.database)
}

// Interrupt makes the statement that runs, if one does, fail soon. DuckDB
// forgets it when the next statement begins.
func (db *DB) Interrupt() { bindings.Interrupt(db.conn) }

// Run runs one statement and drops its rows.
func (db *DB) Run(text string) error {
	result, err := db.Query(text)
	if err != nil {
		return err
	}
	defer result.Close()
	for {
		if rows, err := result.Next(); rows == 0 || err != nil {
			return err
		}
	}
}

// Describe returns the columns of a query's result without running it.
func (db *DB) Describe(text string) ([]Column, error) {
	statement, err := db.prepare(text)
	if err != nil {
		return nil, err
	}
	defer bindings.DestroyPrepare(&statement)
	columns := make([]Column, bindings.PreparedStatementColumnCount(statement))
	for i := range columns {
		logical := bindings.PreparedStatementColumnLogicalType(statement, bindings.IdxT(i))
		columns[i] = Column{Name: bindings.PreparedStatementColumnName(statement, bindings.IdxT(i)), Type: readType(logical)}
	}
	return columns, nil
}

// prepare parses and plans one statement. The caller frees it.
func (db *DB) prepare(text string) (bindings.PreparedStatement, error) {
	var statement bindings.PreparedStatement
	if bindings.Prepare(db.conn, text, &statement) == bindings.StateError {
		err := &Error{bindings.PrepareError(statement)}
		bindings.DestroyPrepare(&statement)
		return statement, err
	}
	return statement, nil
}
