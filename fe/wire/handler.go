package wire

import (
	"context"

	"shoal/fe/literal"
	"shoal/fe/result"
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
	// Execute carries out one statement, with a value for each of its
	// placeholders; trailing semicolons are cut off. A statement with rows
	// calls Columns, Row for each and returns nil; another calls OK or just
	// returns nil. An error may come after rows. It is Execute that clears the
	// session's warnings, since some statements show them. w blocks while the client does
	// not read; it is not to be used after the return.
	Execute(ctx context.Context, s *session.Session, text string, args []literal.Value, w result.Writer) error

	// Describe tells the columns that Execute will announce for a statement
	// with placeholders, none for one without rows. It runs nothing.
	Describe(ctx context.Context, s *session.Session, text string) ([]result.Column, error)

	// Fields are the columns of a table of the current database, for shells
	// that complete names.
	Fields(ctx context.Context, s *session.Session, table string) ([]result.Column, error)

	// Use makes db the session's database: s.DB.
	Use(ctx context.Context, s *session.Session, db string) error
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
