package ast

// ShowDatabases is SHOW DATABASES or SHOW SCHEMAS.
type ShowDatabases struct{ Filter Filter }

// ShowCreateDatabase is SHOW CREATE DATABASE or SHOW CREATE SCHEMA.
type ShowCreateDatabase struct{ Name string }

// ShowTables is SHOW [FULL] TABLES. An empty DB is the session's.
type ShowTables struct {
	DB     string
	Full   bool
	Filter Filter
}

// ShowTableStatus is SHOW TABLE STATUS. An empty DB is the session's.
type ShowTableStatus struct {
	DB     string
	Filter Filter
}

// ShowColumns is SHOW [FULL] COLUMNS or FIELDS, and DESC, DESCRIBE or EXPLAIN
// of a table; the latter with a column name or pattern have it as Like.
type ShowColumns struct {
	Table  Name
	Full   bool
	Filter Filter
}

// ShowIndex is SHOW INDEX, INDEXES or KEYS.
type ShowIndex struct {
	Table  Name
	Filter Filter
}

// ShowCreateTable is SHOW CREATE TABLE or VIEW.
type ShowCreateTable struct {
	Table Name
	View  bool
}

// Scope is the scope of a system variable; the zero value is none written.
type Scope string

// The scopes. LOCAL is Session; PERSIST is not known.
const (
	NoScope Scope = ""
	Session Scope = "SESSION"
	Global  Scope = "GLOBAL"
)

// ShowVariables is SHOW [scope] VARIABLES.
type ShowVariables struct {
	Scope  Scope
	Filter Filter
}

// ShowStatus is SHOW [scope] STATUS.
type ShowStatus struct {
	Scope  Scope
	Filter Filter
}

// ShowWarnings is SHOW WARNINGS or ERRORS, or the COUNT(*) of them. Limit is
// -1 without a LIMIT.
type ShowWarnings struct {
	Errors bool
	Count  bool
	Offset int
	Limit  int
}

// ShowProcesslist is SHOW [FULL] PROCESSLIST.
type ShowProcesslist struct{ Full bool }

// ShowGrants is SHOW GRANTS; an empty User is the session's.
type ShowGrants struct{ User string }

// List is one of the lists that only differ in their rows.
type List string

// The lists. The tail of SHOW TRIGGERS and so on names them as MySQL does.
const (
	Engines         List = "ENGINES"
	Charsets        List = "CHARACTER SET"
	Collations      List = "COLLATION"
	Plugins         List = "PLUGINS"
	Privileges      List = "PRIVILEGES"
	Triggers        List = "TRIGGERS"
	Events          List = "EVENTS"
	ProcedureStatus List = "PROCEDURE STATUS"
	FunctionStatus  List = "FUNCTION STATUS"
	OpenTables      List = "OPEN TABLES"
	Frontends       List = "FRONTENDS"
	Backends        List = "BACKENDS"
	Catalogs        List = "CATALOGS"
	Trash           List = "TRASH"
)

// ShowList is SHOW of one List. DB is set by FROM where that is allowed.
type ShowList struct {
	What   List
	DB     string
	Filter Filter
}

func (*ShowDatabases) stmt()      {}
func (*ShowCreateDatabase) stmt() {}
func (*ShowTables) stmt()         {}
func (*ShowTableStatus) stmt()    {}
func (*ShowColumns) stmt()        {}
func (*ShowIndex) stmt()          {}
func (*ShowCreateTable) stmt()    {}
func (*ShowVariables) stmt()      {}
func (*ShowStatus) stmt()         {}
func (*ShowWarnings) stmt()       {}
func (*ShowProcesslist) stmt()    {}
func (*ShowGrants) stmt()         {}
func (*ShowList) stmt()           {}
