package integration

import (
	"strings"
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestNestedColumns: arrays, maps, structs and variants of a topic, by way of
// the job's expressions, as a client reads them.
func TestNestedColumns(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	inBothModes(t, func(t *testing.T, mode string) {
		l := setUp(t, shoal.DB(), broker, options{
			partitions: 1,
			table:      "(id INT, tags ARRAY<VARCHAR(10)>, attributes MAP<STRING,DECIMAL(10,2)>, person STRUCT<name:STRING,born:DATE>, doc VARIANT, first VARCHAR(10), trace STRING, size INT)",
			clauses: `COLUMNS(id, tags, attributes, person, doc, first = element_at(tags, 1), trace = concat(kafka_topic, '-', kafka_offset), size = array_size(tags)),
				WHERE array_contains(tags, 'keep') AND element_at(attributes, 'price') >= 1.5`,
			properties: map[string]string{"format": "json", "load_mode": mode, "max_error_number": "10"},
		})
		l.produce(l.client(), 0,
			`{"id":1,"tags":["keep","ü"],"attributes":{"price":1.5,"weight":"2.005"},"person":{"name":"Ann","born":"2001-02-03"},"doc":{"a":[1,{"b":null}]}}`,
			`{"id":2,"tags":["drop"],"attributes":{"price":9},"person":null,"doc":1}`,
			`{"id":3,"tags":["keep"],"attributes":{"price":1},"person":{},"doc":"x"}`,
			`{"id":4,"tags":["keep",null],"attributes":{"price":2},"person":{"born":null},"doc":[true]}`)
		l.waitRows(2)
		got := map[string]string{}
		for _, line := range query(t, l.db, "SELECT id, tags, attributes, person, doc, first, size, element_at(tags, 2) AS second, struct_element(person, 'name') AS name, "+
			"element_at(attributes, 'weight') AS weight, trace FROM "+l.table+" ORDER BY id") {
			cells := []string{line["tags"], line["attributes"], line["person"], line["doc"], line["first"], line["size"], line["second"], line["name"], line["weight"]}
			got[line["id"]] = strings.Join(cells, " ")
			if !strings.HasPrefix(line["trace"], l.topic+"-") {
				t.Errorf("trace is %s", line["trace"])
			}
		}
		for id, want := range map[string]string{
			"1": `["keep", "ü"] {"price":1.50, "weight":2.01} {"name":"Ann", "born":"2001-02-03"} {"a":[1,{"b":null}]} keep 2 ü Ann 2.01`,
			"4": `["keep", null] {"price":2.00} {"name":null, "born":null} [true] keep 2 NULL NULL NULL`,
		} {
			if got[id] != want {
				t.Errorf("row %s is\n%s\nwant\n%s", id, got[id], want)
			}
		}
		if s := l.statistic(); s.Loaded != 2 || s.Unselected != 2 || s.Errors != 0 {
			t.Errorf("counted %+v", s)
		}
	})
}
