package ast

// RenameDatabase is ALTER DATABASE … RENAME.
type RenameDatabase struct{ Name, NewName string }

// AlterTable is ALTER TABLE with its clauses, at least one, in the order
// written. Unsupported is as in CreateTable.
type AlterTable struct {
	Table       Name
	Clauses     []AlterClause
	Unsupported []string
}

// AlterClause is one change of a table.
type AlterClause interface{ alterClause() }

// Position is where a column goes: before all others, after one, or, with
// neither, where it is or at the end.
type Position struct {
	First bool
	After string
}

// RenameTable is RENAME with a new name.
type RenameTable struct{ NewName string }

// AddColumn is ADD COLUMN; a list in parentheses is one for each column.
type AddColumn struct {
	Column   Column
	Key      bool
	Position Position
}

// DropColumn is DROP COLUMN.
type DropColumn struct{ Name string }

// RenameColumn is RENAME COLUMN.
type RenameColumn struct{ Name, NewName string }

// ModifyColumn is MODIFY COLUMN with a whole definition.
type ModifyColumn struct {
	Column   Column
	Key      bool
	Position Position
}

// CommentColumn is MODIFY COLUMN … COMMENT, and nothing else of the column.
type CommentColumn struct{ Name, Comment string }

// CommentTable is MODIFY COMMENT.
type CommentTable struct{ Comment string }

func (*RenameTable) alterClause()   {}
func (*AddColumn) alterClause()     {}
func (*DropColumn) alterClause()    {}
func (*RenameColumn) alterClause()  {}
func (*ModifyColumn) alterClause()  {}
func (*CommentColumn) alterClause() {}
func (*CommentTable) alterClause()  {}

// TruncateTable is TRUNCATE TABLE.
type TruncateTable struct{ Table Name }

func (*RenameDatabase) stmt() {}
func (*AlterTable) stmt()     {}
func (*TruncateTable) stmt()  {}
