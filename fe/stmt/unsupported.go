package stmt

import (
	"strings"

	"shoal/fe/errno"
	"shoal/sql/ast"
	"shoal/sql/nearest"
)

// named are the statements that a misspelt one may be meant for.
var named = []string{
	"SHOW BACKENDS", "SHOW FRONTENDS", "SHOW TRASH", "SHOW DATABASES", "SHOW TABLES", "SHOW COLUMNS", "SHOW VARIABLES", "SHOW STATUS", "SHOW WARNINGS",
	"SHOW PROCESSLIST", "SHOW GRANTS", "SHOW FILE", "SHOW LOAD WARNINGS", "SHOW CREATE DATABASE", "SHOW CREATE TABLE", "SHOW CREATE ROUTINE LOAD",
	"SHOW ROUTINE LOAD", "SHOW ROUTINE LOAD TASK", "SHOW ROUTINE LOAD LEDGER",
	"ALTER SYSTEM ADD FOLLOWER", "ALTER SYSTEM ADD OBSERVER", "ALTER SYSTEM ADD BACKEND",
	"ALTER SYSTEM DROP FOLLOWER", "ALTER SYSTEM DROP OBSERVER", "ALTER SYSTEM DROP BACKEND", "ALTER SYSTEM DROPP BACKEND",
	"ALTER SYSTEM DECOMMISSION BACKEND", "CANCEL DECOMMISSION BACKEND",
	"ALTER DATABASE", "ALTER TABLE", "ALTER ROUTINE LOAD", "CREATE DATABASE", "CREATE TABLE", "CREATE FILE", "CREATE ROUTINE LOAD",
	"DROP DATABASE", "DROP TABLE", "DROP FILE",
}

// meant ends an error with the statement that what, the first words of one that
// is not supported, is misspelt for: in one word, and not in the first, which
// says what it does.
func meant(what string) string {
	words := strings.Fields(what)
	for _, name := range named {
		candidate := strings.Fields(name)
		if len(candidate) < len(words) || candidate[0] != words[0] {
			continue
		}
		wrong, near := 0, true
		for i, word := range words {
			if word != candidate[i] {
				wrong++
				near = near && nearest.Of(word, candidate[i:i+1]) != ""
			}
		}
		if wrong == 1 && near {
			return ", did you mean '" + name + "'?"
		}
	}
	return ""
}

func unsupported(stmt *ast.Unsupported) error {
	return errno.New(errno.NotSupportedYet, "%s is not supported by Shoal%s", stmt.What, meant(stmt.What))
}

// unsupportedAdmin refuses an ADMIN statement; only its first word is named, for
// the rest may hold a password.
func unsupportedAdmin(stmt *ast.Admin) error {
	what, _, _ := strings.Cut(stmt.Text, " ")
	what = strings.ToUpper(what)
	if what == "CHECK" {
		return errno.New(errno.NotSupportedYet, "ADMIN CHECK is not supported yet, only ADMIN CHECK ROUTINE LOAD LEDGER FOR a job")
	}
	return errno.New(errno.NotSupportedYet, "ADMIN %s is not supported yet", what)
}
