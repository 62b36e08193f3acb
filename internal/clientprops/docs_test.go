package clientprops

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the documentation instead of comparing it")

const (
	docs       = "../../docs/kafka-properties.md"
	tableBegin = "<!-- The rest is internal/clientprops' table, written by: go test ./internal/clientprops -run TestDocs -rewrite -->\n"
)

// TestDocs: the documentation is the table.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(text), tableBegin)
	if !found {
		t.Fatalf("%s has no line %s", docs, tableBegin)
	}
	want := head + tableBegin + tables()
	if *rewrite {
		if err := os.WriteFile(docs, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("%s is not as the table: go test ./internal/clientprops -run TestDocs -rewrite", docs)
	}
}

// tables are the properties in Markdown, by class.
func tables() string {
	var b strings.Builder
	for _, part := range []struct {
		class class
		title string
	}{
		{used, "Carried out"}, {noMeaning, "Taken, and without meaning here"}, {refused, "Refused"},
	} {
		b.WriteString("\n## " + part.title + "\n\n| property. | |\n|---|---|\n")
		for _, group := range grouped(part.class) {
			b.WriteString("| " + group.names + " | " + group.says + " |\n")
		}
	}
	return b.String()
}

type group struct{ names, says string }

// grouped are the rows of a class; neighbours that say the same are one.
func grouped(c class) []group {
	var groups []group
	for _, p := range properties {
		if p.class != c {
			continue
		}
		name, says := "`"+p.name+"`", p.says
		if len(p.values) > 0 {
			says = "`" + strings.Join(p.values, "`, `") + "`: " + says
		}
		if p.secret {
			says += " (secret)"
		}
		if last := len(groups) - 1; last >= 0 && groups[last].says == says {
			groups[last].names += " " + name
			continue
		}
		groups = append(groups, group{name, says})
	}
	return groups
}

// TestTable: rows are well formed, so that what the table says is what Options
// does.
func TestTable(t *testing.T) {
	if len(known) != len(properties) {
		t.Errorf("%d rows, but %d names: one is there twice", len(properties), len(known))
	}
	for _, p := range properties {
		switch {
		case p.says == "":
			t.Errorf("%s says nothing", p.name)
		case p.class != used && p.set != nil:
			t.Errorf("%s is %s, and carried out", p.name, p.class)
		case p.name != strings.ToLower(p.name):
			t.Errorf("%s is not in small letters, as keys are", p.name)
		case p.secret && !p.reference:
			t.Errorf("%s is secret, so it should take references", p.name)
		}
	}
}
