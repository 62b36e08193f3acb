package ast

// Set is a SET statement: assignments that are carried out in order.
type Set struct{ Items []SetItem }

// SetItem is one part of a SET statement.
type SetItem interface{ setItem() }

// Value is the right side of an assignment. Literal is set if it is one word,
// number or string (or a number with a sign), Default if it is DEFAULT;
// otherwise only Expr says what it is. A bare NULL is a word: its Expr tells it
// from the string.
type Value struct {
	Expr    Expr
	Literal *string
	Default bool
}

// SetVariable assigns a system variable. Name is as written, without @@.
type SetVariable struct {
	Scope Scope
	Name  string
	Value Value
}

// SetUserVariable assigns @Name.
type SetUserVariable struct {
	Name  string
	Value Value
}

// SetNames is SET NAMES. Charset is empty for DEFAULT.
type SetNames struct{ Charset, Collate string }

// SetCharset is SET CHARACTER SET or SET CHARSET. Charset is empty for DEFAULT.
type SetCharset struct{ Charset string }

// SetTransaction is SET TRANSACTION; what was not named is empty or nil.
type SetTransaction struct {
	Scope     Scope
	Isolation string // such as "REPEATABLE-READ"
	ReadOnly  *bool
}

func (*SetVariable) setItem()     {}
func (*SetUserVariable) setItem() {}
func (*SetNames) setItem()        {}
func (*SetCharset) setItem()      {}
func (*SetTransaction) setItem()  {}

// NoOp is a statement that clients send and that has nothing to do here:
// transactions, locks, flushes. What is its first words, in capitals.
type NoOp struct{ What string }

// Kill is KILL [CONNECTION] n, or KILL QUERY n.
type Kill struct {
	Query bool
	ID    uint64
}

// Help is HELP with a topic.
type Help struct{ Topic string }

func (*Set) stmt()  {}
func (*NoOp) stmt() {}
func (*Kill) stmt() {}
func (*Help) stmt() {}
