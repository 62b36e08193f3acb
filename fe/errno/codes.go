package errno

// MySQL's own numbers below 5000, Doris's from 5000. The names follow MySQL's
// ER_… constants where they say what is meant.
var (
	// Connections and packets.
	TooManyConnections   = Code{1040, "08004", "too many connections"}
	Handshake            = Code{1043, "08S01", "bad handshake"}
	DatabaseAccessDenied = Code{1044, "42000", "access to database denied"}
	AccessDenied         = Code{1045, "28000", "access denied"}
	UnknownCommand       = Code{1047, "08S01", "unknown command"}
	ServerShutdown       = Code{1053, "08S01", "server shutdown in progress"}
	NoSuchThread         = Code{1094, "HY000", "unknown thread id"}
	PacketTooLarge       = Code{1153, "08S01", "packet bigger than max_allowed_packet"}
	PacketsOutOfOrder    = Code{1156, "08S01", "packets out of order"}
	NotSupportedAuth     = Code{1251, "08004", "client does not support the authentication protocol"}
	QueryInterrupted     = Code{1317, "70100", "query execution was interrupted"}
	MalformedPacket      = Code{1835, "HY000", "malformed communication packet"}
	ConnectionKilled     = Code{1927, "70100", "connection was killed"}
	QueryTimeout         = Code{3024, "HY000", "maximum statement execution time exceeded"}
	// NotAvailable is for a statement that surely was not carried out, for want
	// of a leading frontend.
	NotAvailable = Code{3168, "HY000", "server isn't available"}
	// OutcomeUnknown is for a statement that may have been carried out, or be
	// carried out yet. MySQL has no number for it, SQL a state.
	OutcomeUnknown = Code{1105, "08007", "transaction resolution unknown"}
	ClientInactive = Code{4031, "HY000", "disconnected because of inactivity"}

	// Databases, tables, columns.
	DatabaseExists    = Code{1007, "HY000", "database exists"}
	DatabaseNotExists = Code{1008, "HY000", "database doesn't exist"}
	NoDatabase        = Code{1046, "3D000", "no database selected"}
	UnknownDatabase   = Code{1049, "42000", "unknown database"}
	TableExists       = Code{1050, "42S01", "table already exists"}
	BadTable          = Code{1051, "42S02", "unknown table"}
	BadField          = Code{1054, "42S22", "unknown column"}
	DuplicateColumn   = Code{1060, "42S21", "duplicate column name"}
	WrongColumnSpec   = Code{1063, "42000", "incorrect column specifier"}
	BadDefault        = Code{1067, "42000", "invalid default value"}
	KeyColumnMissing  = Code{1072, "42000", "key column doesn't exist in table"}
	TooLongIdentifier = Code{1059, "42000", "identifier name is too long"}
	WrongDatabaseName = Code{1102, "42000", "incorrect database name"}
	WrongTableName    = Code{1103, "42000", "incorrect table name"}
	CantDropField     = Code{1091, "42000", "can't drop column"}
	UnknownTable      = Code{1109, "42S02", "unknown table in statement"}
	NoSuchTable       = Code{1146, "42S02", "no such table"}
	WrongColumnName   = Code{1166, "42000", "incorrect column name"}

	// Statements.
	Syntax               = Code{1064, "42000", "syntax error"}
	EmptyQuery           = Code{1065, "42000", "query was empty"}
	Unknown              = Code{1105, "HY000", "unknown error"}
	UnknownCharset       = Code{1115, "42000", "unknown character set"}
	TableAccessDenied    = Code{1142, "42000", "command denied on table"}
	NotSupportedYet      = Code{1235, "42000", "not supported yet"}
	PrivilegeNeeded      = Code{1227, "42000", "privilege needed"}
	WrongArguments       = Code{1210, "HY000", "incorrect arguments"}
	UnknownStatement     = Code{1243, "HY000", "unknown prepared statement handler"}
	CollationMismatch    = Code{1253, "42000", "collation is not valid for the character set"}
	UnknownCollation     = Code{1273, "HY000", "unknown collation"}
	UnsupportedPrepared  = Code{1295, "HY000", "not supported in the prepared statement protocol"}
	UnknownTimeZone      = Code{1298, "HY000", "unknown or incorrect time zone"}
	InvalidCharacters    = Code{1300, "HY000", "invalid character string"}
	NoSuchProcedure      = Code{1305, "42000", "procedure or function does not exist"}
	TooManyPlaceholders  = Code{1390, "HY000", "prepared statement contains too many placeholders"}
	NoOpenCursor         = Code{1421, "HY000", "the statement has no open cursor"}
	TooManyPrepared      = Code{1461, "42000", "too many prepared statements"}
	WrongRoutineLoadName = Code{5063, "42000", "incorrect routine load job name"}

	// System variables.
	UnknownSystemVariable = Code{1193, "HY000", "unknown system variable"}
	WrongValueForVariable = Code{1231, "42000", "variable can't be set to the value"}
	WrongTypeForVariable  = Code{1232, "42000", "incorrect argument type to variable"}
	ReadOnlyVariable      = Code{1238, "HY000", "variable is read only"}

	// Data.
	BadNull         = Code{1048, "23000", "column cannot be null"}
	OutOfRange      = Code{1264, "22003", "out of range value"}
	TruncatedValue  = Code{1292, "22007", "truncated incorrect value"}
	DivisionByZero  = Code{1365, "22012", "division by 0"}
	IncorrectValue  = Code{1366, "HY000", "incorrect value for column"}
	IllegalFunction = Code{1582, "42000", "incorrect parameters in the call to a function"}
)
