package ast

// CreateFile is CREATE FILE. An empty DB in the name is the session's.
type CreateFile struct {
	File       Name
	Properties Properties
}

// DropFile is DROP FILE.
type DropFile struct {
	File       Name
	Properties Properties
}

// ShowFiles is SHOW FILE. An empty DB is the session's.
type ShowFiles struct{ DB string }

func (*CreateFile) stmt() {}
func (*DropFile) stmt()   {}
func (*ShowFiles) stmt()  {}
