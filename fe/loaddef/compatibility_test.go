package loaddef

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shoal/fe/errno"
	"shoal/sql/ast"
	"shoal/sql/parse"
)

// rowsOf is the tables of docs/compatibility.md below a heading, as cells.
func rowsOf(t *testing.T, heading string) (rows [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the page has no section %s", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		// A bar in backquotes is no border of a cell.
		line = regexp.MustCompile("`[^`]*`").ReplaceAllStringFunc(line, func(code string) string { return strings.ReplaceAll(code, "|", "¦") })
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

// named is the names in backquotes of the first cells.
func named(rows [][]string) (names []string) {
	for _, row := range rows {
		names = append(names, strings.Trim(row[0], "`"))
	}
	return names
}

// TestPageHasEveryProperty: what code knows is on the page, and nothing else.
func TestPageHasEveryProperty(t *testing.T) {
	var keys []string
	for _, p := range jobProperties {
		keys = append(keys, p.key)
	}
	documented := named(rowsOf(t, "Job properties"))[1:]
	for _, key := range keys {
		if !slices.Contains(documented, key) {
			t.Errorf("job property %s is not on the page", key)
		}
	}
	for _, name := range documented {
		if !slices.Contains(keys, name) {
			t.Errorf("the page has job property %s, which is not known", name)
		}
	}
	documented = named(rowsOf(t, "FROM KAFKA"))
	for _, key := range sourceKeys() {
		if !slices.Contains(documented, key) {
			t.Errorf("source property %s is not on the page", key)
		}
	}
}

// TestPageTellsDefaults: the defaults and what ALTER takes are as in code.
func TestPageTellsDefaults(t *testing.T) {
	for _, row := range rowsOf(t, "Job properties")[1:] {
		i := slices.IndexFunc(jobProperties, func(p property) bool { return "`"+p.key+"`" == row[0] })
		p := jobProperties[i]
		if said := strings.Trim(row[2], "`"); p.otherwise != "" && said != p.otherwise && said != p.otherwise+".0" {
			t.Errorf("%s: the page says default %s, it is %s", p.key, said, p.otherwise)
		}
		if fixed := row[3] == "no"; fixed != p.fixed {
			t.Errorf("%s: the page says alter %s", p.key, row[3])
		}
		if forCSV, forJSON := strings.Contains(row[4], "or csv only"), strings.Contains(row[4], "or json only"); forCSV != (formatName(p.format) == "csv" && p.format != 0) || forJSON != (formatName(p.format) == "json") {
			t.Errorf("%s: the page does not say for which format it is: %s", p.key, row[4])
		}
	}
}

// TestNotYetIsRefused: every example of what cannot be done yet is refused, by
// an error that is no mere syntax error.
func TestNotYetIsRefused(t *testing.T) {
	refused := 0
	for heading, statement := range map[string]func(example string) string{
		"Clauses":        func(example string) string { return jobWith(example, "", "") },
		"Job properties": func(example string) string { return jobWith("", example, "") },
		"FROM KAFKA":     func(example string) string { return jobWith("", "", ", "+example) },
	} {
		for _, row := range rowsOf(t, heading) {
			if row[1] != "not yet" || row[0] == "`FROM KINESIS`" {
				continue
			}
			example := strings.ReplaceAll(strings.Trim(row[len(row)-1], "`"), "¦", "|")
			stmt, err := parse.Parse(statement(example))
			if err != nil {
				t.Errorf("%s, %s: %v", heading, example, err)
				continue
			}
			create := stmt.(*ast.CreateRoutineLoad)
			target := orders
			if strings.Contains(example, "table_name") {
				create.Table, target = "", nil
			}
			_, err = Create(create, target, "SYSTEM")
			if err == nil || errno.From(err).Code != errno.NotSupportedYet {
				t.Errorf("%s, %s: %v, want that it is not supported yet", heading, example, err)
			}
			refused++
		}
	}
	if refused < 12 {
		t.Errorf("only %d examples were found", refused)
	}
	if stmt, err := parse.Parse("GRANT LOAD_PRIV ON d.* TO u"); err != nil {
		t.Error(err)
	} else if _, unsupported := stmt.(*ast.Unsupported); !unsupported {
		t.Errorf("GRANT is %T", stmt)
	}
}

func jobWith(clauses, job, source string) string {
	text := "CREATE ROUTINE LOAD j ON orders " + clauses
	if job != "" {
		text += " PROPERTIES(" + job + ")"
	}
	return text + ` FROM KAFKA("kafka_broker_list"="b:1", "kafka_topic"="t"` + source + ")"
}
