package loadscope_test

import (
	"fmt"
	"testing"
	"time"

	"shoal/internal/loadscope"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/duckdb"
	"shoal/sql/rewrite"
)

func TestScope(t *testing.T) {
	table, err := loadscope.Columns(&typesv1.Schema{Columns: []*typesv1.Column{{Name: "kafka_offset", Type: "text"}, {Name: "n", Type: "decimal(10,2)"}}})
	if err != nil {
		t.Fatal(err)
	}
	names := append(table, loadscope.Metadata()...)
	scope := rewrite.Scope{Now: time.Unix(0, 0), Columns: loadscope.Scope(names, func(i int) string { return duckdb.QuoteName(fmt.Sprint(i)) })}
	for text, want := range map[string]string{"n": `"1"`, "kafka_topic": `"2"`, "KAFKA_HEADERS": `"7"`, "kafka_offset": `"0"`} {
		compiled, err := rewrite.LoadExpression(text, scope)
		if err != nil || compiled.SQL != want {
			t.Errorf("%s is %s, %v; want %s", text, compiled.SQL, err, want)
		}
	}
	if _, err := loadscope.Columns(&typesv1.Schema{Columns: []*typesv1.Column{{Name: "x", Type: "hll"}}}); err == nil {
		t.Error("a type that there is not is taken")
	}
}
