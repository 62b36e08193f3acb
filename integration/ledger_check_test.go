package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// checked is the answer of ADMIN CHECK ROUTINE LOAD LEDGER, whose last row is
// about the job. A backend that has just died may fail it once.
func (l *load) checked() (lines []map[string]string) {
	l.t.Helper()
	cluster.Eventually(l.t, limit, func() (err error) {
		lines, err = cluster.Rows(l.t.Context(), l.db, "ADMIN CHECK ROUTINE LOAD LEDGER FOR "+l.table)
		return err
	})
	return lines
}

// mustCheck fails the test unless files and ledger agree.
func (l *load) mustCheck() map[string]string {
	l.t.Helper()
	lines := l.checked()
	for _, line := range lines {
		if line["Verdict"] != "OK" {
			l.t.Errorf("check of partition %s: %s: %s", line["Partition"], line["Verdict"], line["FirstDifferences"])
		}
	}
	return lines[len(lines)-1]
}

// TestLedgerCheck: a job with aborted transactions, error rows, filtered rows,
// empty messages and processes that are killed with -9; then its table is
// truncated, and it loads on. Whenever it is checked, running or settled, files
// and ledger agree.
func TestLedgerCheck(t *testing.T) { inBothModes(t, ledgerCheck) }

func ledgerCheck(t *testing.T, mode string) {
	const perTransaction = 20
	broker := testkafka.Shared(t)
	fe, bes := startCluster(t, 2)
	l := setUp(t, fe.DB(), broker, options{partitions: 2, clauses: "WHERE id % 5 <> 0", properties: map[string]string{
		"load_mode": mode, "format": "json", "desired_concurrent_number": "4", "max_error_number": "100000", "max_batch_interval": "1"}})
	client := l.client(kgo.TransactionalID(l.topic))
	next := 0
	produce := func(n int) {
		t.Helper()
		for range n {
			values := make([]string, perTransaction)
			for i := range values {
				switch id := next*perTransaction + i; {
				case i == 7 && next < 30:
					values[i] = fmt.Sprintf(`{"id":%d,`, id)
				case next%9 == 8: // nothing of it is selected
					values[i] = row(5*id, 0)
				default:
					values[i] = row(id, 0)
				}
			}
			if err := transact(t, client, next%4 != 3, values...); err != nil {
				t.Fatal(err)
			}
			next++
		}
	}
	for _, victim := range []*cluster.Process{bes[0], fe, bes[1]} {
		produce(30)
		l.mustCheck()
		victim.Kill()
		produce(10)
		victim.Run()
	}
	settled := func(more int) { t.Helper(); l.waitSettled(int64(next*(perTransaction+1) + more)) } // each has a marker
	settled(0)
	plain := l.client()
	l.produce(plain, 1, "", row(5, 1), row(10, 1)) // a txn without a file
	settled(3)
	l.checkLedger()
	all := l.mustCheck()
	if s := l.statistic(); s.Errors == 0 || s.Unselected == 0 || all["Rows"] != fmt.Sprint(s.Loaded) || all["Void"] == "0" || all["Rowless"] == "0" {
		t.Errorf("check %v; statistic %+v", all, s)
	}

	produce(4) // without error rows, whose file would stay
	settled(3)
	l.exec("TRUNCATE TABLE " + l.table)
	cut := l.mustCheck()
	if cut["Rows"] != "0" || cut["Cut"] == "0" {
		t.Errorf("check after TRUNCATE: %v", cut)
	}
	produce(10)
	settled(3)
	if more := l.mustCheck(); more["Rows"] == "0" || more["Cut"] != cut["Cut"] {
		t.Errorf("check of what came after TRUNCATE: %v", more)
	}
	if out := mustShoal(t, "admin", "check", "-D", l.database(), "t", "--fe", fe.Ready.RPC); strings.Count(out, "OK") != 3 {
		t.Errorf("admin check printed %s", out)
	}
}

// TestLedgerCheckNotices damages files on purpose. Each is noticed, by name, and
// when it is whole again so is the ledger.
func TestLedgerCheckNotices(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	p := cluster.Start(t, "standalone")
	l := setUp(t, p.DB(), broker, options{partitions: 1, properties: map[string]string{
		"format": "json", "desired_concurrent_number": "1", "max_error_number": "100"}})
	l.waitState("RUNNING")
	client := l.client()
	for i := range 3 {
		l.produce(client, 0, row(2*i, 0), row(2*i+1, 0))
		l.waitRows(int64(2*i + 2))
	}
	l.produce(client, 0, `{"id":`)
	l.waitSettled(7)
	l.mustCheck()
	files, err := filepath.Glob(filepath.Join(p.Dir, "warehouse", "*", "*.parquet"))
	if err != nil || len(files) != 4 {
		t.Fatalf("files %v, %v; want 4", files, err)
	}
	contents := map[string][]byte{}
	var rows, errorRows []string
	for _, f := range files {
		if contents[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f, "-errors.parquet") {
			errorRows = append(errorRows, f)
		} else {
			rows = append(rows, f)
		}
	}
	for _, tt := range []struct {
		name   string
		file   string
		damage func(path string) error
		want   string
	}{
		{"missing", rows[0], os.Remove, "cannot be read: there is no such file"},
		{"cut off", rows[0], func(path string) error { return os.Truncate(path, 100) }, "cannot be read"},
		{"another one", rows[0], func(path string) error { return os.WriteFile(path, contents[rows[1]], 0o644) }, "has the label"},
		{"error rows missing", errorRows[0], os.Remove, "cannot be read: there is no such file"},
	} {
		if err := tt.damage(tt.file); err != nil {
			t.Fatal(err)
		}
		lines := l.checked()
		all, rel := lines[len(lines)-1], filepath.Base(tt.file)
		if all["Verdict"] != "DIFFERS" || !strings.Contains(all["FirstDifferences"], rel) || !strings.Contains(all["FirstDifferences"], tt.want) || lines[0]["Verdict"] == "OK" {
			t.Errorf("%s: %v, job %v", tt.name, lines[0], all)
		}
		if out, err := shoal(t, "admin", "check", "-D", l.database(), "t", "--fe", p.Ready.RPC); err == nil || !strings.Contains(out, "the verdict is DIFFERS") {
			t.Errorf("%s: admin check: %v, %s", tt.name, err, out)
		}
		if err := os.WriteFile(tt.file, contents[tt.file], 0o644); err != nil {
			t.Fatal(err)
		}
		l.mustCheck()
	}
}
