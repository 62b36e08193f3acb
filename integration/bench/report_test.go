package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// report is the results as Markdown that a terminal shows well too.
func (r results) report(rows int) string {
	return fmt.Sprintf("%s\n%s records in each topic, medians of %d rounds.\n\n%s\n%s",
		machine(), count(float64(rows)), len(r[0].samples), r.boundsTable(), r.cellsTable())
}

func (r results) boundsTable() string {
	lines := [][]string{{"data", "partitions", "C rows/s", "D rows/s", "1/(1/C+1/D)", "whole path rows/s", "ratio", "target"}}
	for _, b := range r.bounds() {
		lines = append(lines, []string{
			b.data.label(), fmt.Sprint(b.partitions),
			fmt.Sprintf("%s (%d members)", count(b.source.rate()), b.source.parallel),
			fmt.Sprintf("%s (%d workers)", count(b.duckDB.rate()), b.duckDB.parallel),
			count(b.rate()),
			fmt.Sprintf("%s (%d tasks)", count(b.path.rate()), b.path.parallel),
			fmt.Sprintf("%.2f", b.ratio()), fmt.Sprintf("%.2f", target),
		})
	}
	return table(lines)
}

func (r results) cellsTable() string {
	lines := [][]string{{"data", "what", "partitions", "parallel", "rows/s", "min to max", "peak RSS MiB", "CPU s/million rows"}}
	for _, row := range r {
		rates := row.rates()
		partitions, rss, cpu := "", "", ""
		if row.partitions > 0 {
			partitions = fmt.Sprint(row.partitions)
		}
		if row.what == wholePath {
			rss = count(slices.Max(row.of(func(s sample) float64 { return float64(s.peakRSS) })) / (1 << 20))
			cpu = fmt.Sprintf("%.1f", median(row.of(func(s sample) float64 { return s.cpu * 1e6 })))
		}
		lines = append(lines, []string{
			row.data.label(), row.what, partitions, fmt.Sprint(row.parallel),
			count(row.rate()), count(rates[0]) + " to " + count(rates[len(rates)-1]), rss, cpu,
		})
	}
	return table(lines)
}

// label names a dataset with its format.
func (d dataset) label() string { return d.name + ", " + strings.ToUpper(d.format) }

// count writes a number with its thousands apart.
func count(f float64) string {
	digits := fmt.Sprintf("%.0f", f)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// table is lines of cells, the first of them the head, as a Markdown table.
func table(lines [][]string) string {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for n, line := range lines {
		for i, cell := range line {
			fmt.Fprintf(&text, "| %-*s ", widths[i], cell)
		}
		text.WriteString("|\n")
		if n == 0 {
			for _, width := range widths {
				text.WriteString("|" + strings.Repeat("-", width+2))
			}
			text.WriteString("|\n")
		}
	}
	return text.String()
}

// machine says what was measured, on what, with what.
func machine() string {
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	var kernel unix.Utsname
	_ = unix.Uname(&kernel)
	var memory unix.Sysinfo_t
	_ = unix.Sysinfo(&memory)
	return fmt.Sprintf("%s, commit %s. %s, %d cores, %.0f GiB of memory, Linux %s. %s, Kafka %s on the same machine, %s.\n",
		time.Now().UTC().Format(time.DateOnly), bytes.TrimSpace(commit), cpuModel(), runtime.NumCPU(),
		float64(memory.Totalram)*float64(memory.Unit)/(1<<30), unix.ByteSliceToString(kernel.Release[:]),
		runtime.Version(), kafkaVersion, duckDBVersion())
}

func cpuModel() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

const (
	beginMark = "<!-- make bench writes from here -->\n"
	endMark   = "<!-- to here -->\n"
)

// writeReport replaces what lies between the marks of a file.
func writeReport(path, report string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, begins := strings.Cut(string(old), beginMark)
	_, tail, ends := strings.Cut(rest, endMark)
	if !begins || !ends {
		return fmt.Errorf("%s has no line %q with a line %q below it", path, strings.TrimSpace(beginMark), strings.TrimSpace(endMark))
	}
	return os.WriteFile(path, []byte(head+beginMark+report+endMark+tail), 0o644)
}

func TestReport(t *testing.T) {
	web := datasets[0]
	var r results
	for rate := range 3 {
		r.add(cell{web, duckDBAlone, 0, 2}, sample{rate: 900_000 + float64(rate)})
		r.add(cell{web, sourceAlone, 8, 1}, sample{rate: 1_800_000})
		r.add(cell{web, wholePath, 8, 1}, sample{rate: 200_000, peakRSS: 100 << 20, cpu: 4e-6})
		r.add(cell{web, wholePath, 8, 4}, sample{rate: 300_000 + float64(rate)*1000, peakRSS: int64(100+rate) << 20, cpu: 3e-6})
	}
	path := filepath.Join(t.TempDir(), "benchmarks.md")
	if err := writeReport(path, "x"); err == nil {
		t.Error("no error without a file")
	}
	if err := os.WriteFile(path, []byte("before\n"+beginMark+"old\n"+endMark+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeReport(path, r.boundsTable()+r.cellsTable()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "before\n" + beginMark +
		`| data          | partitions | C rows/s              | D rows/s            | 1/(1/C+1/D) | whole path rows/s | ratio | target |
|---------------|------------|-----------------------|---------------------|-------------|-------------------|-------|--------|
| web log, JSON | 8          | 1,800,000 (1 members) | 900,001 (2 workers) | 600,000     | 301,000 (4 tasks) | 0.50  | 0.50   |
| data          | what         | partitions | parallel | rows/s    | min to max             | peak RSS MiB | CPU s/million rows |
|---------------|--------------|------------|----------|-----------|------------------------|--------------|--------------------|
| web log, JSON | DuckDB alone |            | 2        | 900,001   | 900,000 to 900,002     |              |                    |
| web log, JSON | source alone | 8          | 1        | 1,800,000 | 1,800,000 to 1,800,000 |              |                    |
| web log, JSON | whole path   | 8          | 1        | 200,000   | 200,000 to 200,000     | 100          | 4.0                |
| web log, JSON | whole path   | 8          | 4        | 301,000   | 300,000 to 302,000     | 102          | 3.0                |
` + endMark + "after\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
