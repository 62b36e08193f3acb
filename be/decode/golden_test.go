package decode_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	typesv1 "shoal/proto/types/v1"
)

// goldenCells is how many cells the tables are to have at least.
const goldenCells = 1900

// TestGolden proves each cell of the tables in testdata/golden. A line has
// a type, perhaps with NOT NULL; the format; the source as a Go string; and
// what becomes of it without and with strict_mode: a value, NULL or an error
// row. "zone" gives the job's time zone from there on.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/golden/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	cells := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		zone := ""
		for n, line := range strings.Split(string(text), "\n") {
			where := fmt.Sprintf("%s:%d", path, n+1)
			if name, ok := strings.CutPrefix(line, "zone "); ok {
				zone = name
			} else if line != "" && line[0] != '#' {
				checkCells(t, where, zone, line)
				cells += 2
			}
		}
	}
	if cells < goldenCells {
		t.Errorf("%d cells, want %d", cells, goldenCells)
	}
}

var goldenGap = regexp.MustCompile(` {2,}`)

func checkCells(t *testing.T, where, zone, line string) {
	fields := goldenGap.Split(line, -1)
	if len(fields) != 5 {
		t.Fatalf("%s: %d fields in %q", where, len(fields), line)
	}
	source, err := strconv.Unquote(fields[2])
	if err != nil {
		t.Fatalf("%s: source %s: %v", where, fields[2], err)
	}
	for i, strict := range []bool{false, true} {
		if got := goldenCell(t, fields[0], fields[1], source, zone, strict); got != fields[3+i] {
			t.Errorf("%s: %s of %s %s, strict %v, is %s; want %s", where, fields[0], fields[1], fields[2], strict, got, fields[3+i])
		}
	}
}

// goldenCell loads source into a column of that type, behind one that is good.
func goldenCell(t *testing.T, typ, format, source, zone string, strict bool) string {
	typ, notNull := strings.CutSuffix(typ, " NOT NULL")
	schema := &typesv1.Schema{Columns: []*typesv1.Column{
		{FieldId: 1, Name: "k", Type: "INT"}, {FieldId: 2, Name: "v", Type: typ, Nullable: !notNull}}}
	load := &typesv1.RoutineLoad{Timezone: zone, StrictMode: strict}
	var msg string
	switch format {
	case "csv":
		load.Format, load.ColumnSeparator, load.Enclose = typesv1.RoutineLoad_FORMAT_CSV, "\x1f", "\x1e"
		msg = "1\x1f" + source
		if strings.ContainsAny(source, "\r\n") {
			msg = "1\x1f\x1e" + source + "\x1e"
		}
	case "json":
		load.Format = typesv1.RoutineLoad_FORMAT_JSON
		msg = `{"k":1,"v":` + source + `}`
		if source == "" {
			msg = `{"k":1}`
		}
	default:
		t.Fatalf("unknown format %q", format)
	}
	rows, bad := decodeOne(newDecoder(t, schema, load), []byte(msg))
	switch {
	case len(rows) == 1 && len(bad) == 0:
		return strings.ReplaceAll(rows[0][1], "  ", `\x20\x20`)
	case len(rows) == 0 && len(bad) == 1 && bad[0].Column == "v":
		return "error"
	}
	t.Fatalf("%s of %s %q: rows %v, errors %+v", typ, format, source, rows, bad)
	return ""
}
