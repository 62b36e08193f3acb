package clients

import (
	"database/sql"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"shoal/integration/cluster"
)

// testShell runs a shell with and without a terminal; db is another connection,
// to see from.
func testShell(t *testing.T, program, host, port string, db *sql.DB) {
	shell := func(args ...string) *exec.Cmd {
		return exec.Command(program, append([]string{"--host=" + host, "--port=" + port, "--user=root"}, args...)...)
	}
	t.Run("batch", func(t *testing.T) { testBatch(t, shell) })
	t.Run("interactive", func(t *testing.T) { testInteractive(t, shell, db) })
}

// testBatch runs statements by -e, each answer compared as the shell prints it.
func testBatch(t *testing.T, shell func(...string) *exec.Cmd) {
	run(t, shell("-e", "DROP DATABASE IF EXISTS shells; CREATE DATABASE shells; CREATE TABLE shells.t (id INT NOT NULL, price DECIMAL(10,2), note STRING)"))
	for _, tt := range []struct{ statements, want string }{
		{"SELECT 1 AS a, NULL AS b, 'x' AS c", "a\tb\tc\n1\tNULL\tx\n"},
		{"DESC t", "Field\tType\tNull\tKey\tDefault\tExtra\nid\tint\tNO\ttrue\tNULL\t\nprice\tdecimal(10,2)\tYES\ttrue\tNULL\t\nnote\ttext\tYES\tfalse\tNULL\tNONE\n"},
		{"SELECT * FROM t; SELECT COUNT(*) FROM t", "COUNT(*)\n0\n"},
		{"SELECT CAST(1.5 AS DECIMAL(10,2)), CAST('2024-02-29' AS DATE), CAST('2024-02-29 12:00:00' AS DATETIME), 1 = 1", "CAST(1.5 AS DECIMAL(10,2))\tCAST('2024-02-29' AS DATE)\tCAST('2024-02-29 12:00:00' AS DATETIME)\t1 = 1\n1.50\t2024-02-29\t2024-02-29 12:00:00\t1\n"},
		{"use shells; SHOW TABLES", "Tables_in_shells\nt\n"},
	} {
		if got := run(t, shell("shells", "-e", tt.statements)); got != tt.want {
			t.Errorf("%s answered\n%swant\n%s", tt.statements, got, tt.want)
		}
	}
	for statement, want := range map[string]string{
		"SELECT nothing": "ERROR 1054 (42S22)", "SELECT * FROM nothing": "ERROR 1146 (42S02)", "SELEKT": "ERROR 1064 (42000)",
		"INSERT INTO t VALUES (1)": "ERROR 1235 (42000)", "USE nowhere": "ERROR 1049 (42000)",
	} {
		out, err := shell("shells", "-e", statement).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s; want %s", statement, err, out, want)
		}
	}
}

// testInteractive talks to a shell on a terminal: it then reads all names for
// completion first, asks who it is for its prompt, and kills by Ctrl-C.
func testInteractive(t *testing.T, shell func(...string) *exec.Cmd, db *sql.DB) {
	term := startTerminal(t, shell("shells", "--auto-rehash"))
	term.expect("Reading table information", "Welcome to the M")
	term.say("select 40 + 2 as answer;")
	term.expect(`answer`, `\| +42 \|`, `1 row in set`)
	term.say("select nothing from t;")
	term.expect(`ERROR 1054 \(42S22\)`)
	term.say("use information_schema")
	term.expect("Database changed")
	term.say("status")
	term.expect(`Current database:\s+information_schema`, `Current user:\s+root@`, `Server version:\s+5\.7\.99`, "Uptime")
	term.say(`\W`)
	term.say("set net_write_timeout = 0;")
	term.expect("1 warning", "Truncated incorrect net_write_timeout value")
	const endless = "select count(*) from range(1000000) a, range(1000000) b, range(1000000) c"
	term.say(endless + ";")
	cluster.Eventually(t, limit, func() error { return runs(db, endless) })
	term.press("\x03")
	term.expect(`ERROR 1317 \(70100\)`)
	term.say("select 'still here';")
	term.expect("1 row in set")
	term.say("quit")
	term.expect("Bye")
}

// runs tells by an error that no connection runs a statement.
func runs(db *sql.DB, statement string) error {
	var n int
	err := db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = ?", statement).Scan(&n)
	if err == nil && n == 0 {
		err = fmt.Errorf("nobody runs %s", statement)
	}
	return err
}
