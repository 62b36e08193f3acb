package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestExplainCreate: a dry run shows what would become of the topic's records,
// and makes nothing.
func TestExplainCreate(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	fe, _ := startCluster(t, 1)
	waitBackend(t, fe)
	o := options{
		partitions: 2, table: "(id INT, at DATETIME(3), tag VARCHAR(8) DEFAULT 'none', big DECIMAL(20,2))",
		clauses:    "COLUMNS(id, ms, big, at = from_unixtime(ms / 1000)), COLUMNS TERMINATED BY ',', WHERE id <> 3",
		properties: map[string]string{"timezone": "Asia/Shanghai", "strict_mode": "true", "load_mode": "classic", "max_error_number": "10"},
	}
	l := prepare(t, fe.DB(), broker, o)
	client := l.client()
	l.produce(client, 0, "1,1671408000000,1.5\n2,1671408000123,x", "3,0,0", "", "4")
	l.produce(client, 1, "5,1671408000000,123456789012345678.999")
	explain := "EXPLAIN " + l.statement(o)
	want := []string{
		"0 0 1 loaded NULL 1 2022-12-19 08:00:00.000 none 1.50",
		"0 0 2 error column big: the value is no decimal(20,2); source: 2,1671408000123,x NULL NULL NULL NULL",
		"0 1 1 unselected NULL NULL NULL NULL NULL",
		"0 2 NULL empty NULL NULL NULL NULL NULL",
		`0 3 1 error number of fields: found 1, wanted 3 (separator ","); source: 4 NULL NULL NULL NULL`,
		"1 0 1 loaded NULL 5 2022-12-19 08:00:00.000 none 123456789012345679.00",
	}
	check := func(statement string) {
		t.Helper()
		var got []string
		for _, line := range query(t, l.db, statement) {
			var cells []string
			for _, name := range []string{"Partition", "Offset", "Line", "Outcome", "Reason", "id", "at", "tag", "big"} {
				cells = append(cells, line[name])
			}
			got = append(got, strings.Join(cells, " "))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\n%s\nwant\n%s", statement, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	check(explain)
	// From the end it takes the last records; a share group would be left alone.
	atEnd := strings.Replace(explain, "OFFSET_BEGINNING", "OFFSET_END", 1)
	check(atEnd)
	check(strings.Replace(atEnd, `"load_mode"="classic"`, `"load_mode"="share_group"`, 1))
	l.checkTypes(explain)
	l.checkNote(explain)
	if lines := l.inDatabase("SHOW ALL ROUTINE LOAD"); len(lines) != 0 {
		t.Errorf("there is a job: %v", lines)
	}
	if n := l.mustCount(); n != 0 {
		t.Errorf("there are %d rows", n)
	}
	if _, err := l.tryInDatabase(strings.Replace(explain, "ms / 1000", "mss / 1000", 1)); err == nil || !strings.Contains(err.Error(), "unknown column 'mss', did you mean 'ms'?") {
		t.Errorf("a column that there is not: %v", err)
	}
	l.create(o)
	l.waitRows(2)
	if _, err := l.tryInDatabase(explain); err == nil || !strings.Contains(err.Error(), "already used") {
		t.Errorf("a name in use: %v", err)
	}
}

// checkTypes: the columns have the table's types.
func (l *load) checkTypes(statement string) {
	l.t.Helper()
	rows, err := l.db.QueryContext(l.t.Context(), statement)
	if err != nil {
		l.t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.ColumnTypes()
	if err != nil {
		l.t.Fatal(err)
	}
	var got []string
	for _, c := range columns {
		got = append(got, c.Name()+" "+c.DatabaseTypeName())
	}
	if want := "[Partition INT Offset BIGINT Line INT Outcome VARCHAR Reason TEXT id INT at DATETIME tag VARCHAR big DECIMAL]"; fmt.Sprint(got) != want {
		l.t.Errorf("columns %v, want %s", got, want)
	}
}

// checkNote: SHOW WARNINGS tells what fills the columns.
func (l *load) checkNote(statement string) {
	l.t.Helper()
	conn, err := l.db.Conn(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := cluster.Rows(l.t.Context(), conn, statement); err != nil {
		l.t.Fatal(err)
	}
	lines, err := cluster.Rows(l.t.Context(), conn, "SHOW WARNINGS")
	want := "Nothing was loaded. What fills the columns: id int = field 1; at datetime(3) = from_unixtime(ms / 1000); tag varchar(8) = default none; big decimal(20,2) = field 3"
	if err != nil || len(lines) != 1 || lines[0]["Message"] != want {
		l.t.Errorf("notes %v, %v; want %s", lines, err, want)
	}
}

// TestExplainAllTables: of a job without ON each row names its table.
func TestExplainAllTables(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	fe, _ := startCluster(t, 1)
	waitBackend(t, fe)
	o := options{partitions: 1, table: "(id INT, name STRING)", properties: map[string]string{"format": "json"}}
	l := prepare(t, fe.DB(), broker, o)
	l.produce(l.client(), 0, `t|{"id":1,"name":"a\"b<é>"}`, `u|{"id":2}`, `t|{"id":3}`)
	statement := strings.Replace("EXPLAIN "+l.statement(o), " ON t", "", 1)
	var got []string
	for _, line := range l.inDatabase(statement) {
		got = append(got, strings.Join([]string{line["Offset"], line["Outcome"], line["TableName"], line["Row"], line["Reason"]}, " "))
	}
	want := []string{
		`0 loaded t {"id":"1","name":"a\"b<é>"} NULL`,
		`1 error u NULL the database has no table of the name "u"; source: u|{"id":2}`,
		`2 loaded t {"id":"3","name":null} NULL`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// waitBackend waits until the frontend has heard a backend.
func waitBackend(t *testing.T, fe *cluster.Process) {
	t.Helper()
	db := fe.DB()
	cluster.Eventually(t, limit, func() error {
		if lines := query(t, db, "SHOW BACKENDS"); len(lines) == 0 || lines[0]["Alive"] != "true" {
			return fmt.Errorf("backends %v", lines)
		}
		return nil
	})
}
