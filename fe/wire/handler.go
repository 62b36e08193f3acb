package wire

import (
	"context"

	"shoal/fe/literal"
	"shoal/fe/session"
)

// A Handler carries out the commands of all connections. The calls for one
// session come one after the other, except that the session of an open cursor
// is a clone of its connection's.
//
// A context is cancelled when the client leaves, the statement or connection
// is killed, or the server has drained long enough; the call must then return
// soon. Errors reach the client as errno.From has them.
type Handler interface {
	// Query carries out one statement, with a value for each of its
	// placeholders; trailing semicolons are cut off. A statement with rows
	// calls Columns, Row for each and returns nil; another calls OK or just
	// returns nil. An error may come after rows. w is not to be used later.
	Query(ctx context.Context, s *session.Session, sql string, args []literal.Value, w ResultWriter) error

	// Describe tells the columns that Query will announce for a statement with
	// placeholders, none for one without rows. It runs nothing.
	Describe(ctx context.Context, s *session.Session, sql string) ([]Column, error)

	// Fields are the columns of a table of the current database, for shells
	// that complete names.
	Fields(ctx context.Context, s *session.Session, table string) ([]Column, error)

	// Use makes db the session's database: s.DB.
	Use(ctx context.Context, s *session.Session, db string) error
}

// A ResultWriter takes the result of one statement. Errors mean that nobody
// wants it any more: the handler returns them.
type ResultWriter interface {
	// Columns begins a result set. It is called once, before any row.
	Columns(columns []Column) error

	// Row adds a row: a text for each column in MySQL's spelling, nil for
	// NULL. The cells are not kept. It blocks while the client does not read.
	Row(cells [][]byte) error

	// EncodedRow adds a row that is in the form of the text protocol already:
	// each text behind its length-encoded length, NULL as 0xFB.
	EncodedRow(row []byte) error

	// Flush sends what is there. A handler calls it when it has to wait for
	// more rows.
	Flush() error

	// OK sets what a statement without rows tells: affected rows, and a text
	// for shells, which may be empty.
	OK(affected uint64, info string)
}

// An Authenticator knows the accounts. It is used by many goroutines.
type Authenticator interface {
	// Account finds the account for a user who connects from an address.
	Account(user, host string) (Account, bool)
}

// An Account is what a password is checked against: the two hashes that suffice
// for both login methods. Without any it has no password.
type Account struct {
	Native []byte // SHA1(SHA1(password)), for mysql_native_password
	SHA2   []byte // SHA256(SHA256(password)), for caching_sha2_password
}
