// Package wire serves MySQL's client/server protocol: packets, login, commands,
// result sets. It knows packets and not statements; a Handler carries those out.
//
// The effective capabilities of a connection are those that the greeting
// offered and the client asked for: many clients claim bits that were never
// offered. The greeting is for MySQL 5.7 with DEPRECATE_EOF; it offers no TLS,
// compression, multiple statements or query attributes.
//
// Rows come from the handler as text cells, and leave while the statement
// runs: what is written is buffered up to 16 KiB or a Flush, and a client that
// does not read holds the handler back. In the binary protocol of prepared
// statements a cell is converted by the type that its Column announced, so the
// width of a value always follows the definition.
//
// Goroutines: Server.Run owns one per connection, which carries out commands
// in order, and each of these owns one that reads packets ahead, so that a
// client that leaves is noticed while its statement runs: the statement's
// context is then cancelled. An open cursor is a goroutine of its connection
// too. All are gone when Run returns.
//
// Malformed input ends in error 1835, never in a panic; a panic of the handler
// ends in 1105 and a stack in the log, and the connection goes on.
package wire
