package cases

import (
	"encoding/hex"
	"strings"
	"testing"

	"shoal/internal/testkafka"
)

// Bytes that are not UTF-8 make an error row, whose sample can be read.
func TestC12(t *testing.T) {
	both(t, func(t *testing.T, mode string) {
		const columns = "(id INT, s STRING)"
		t.Run("csv", func(t *testing.T) {
			t.Parallel()
			j := prepare(t, connect(t), testkafka.Shared(t), mode, load{columns: columns})
			j.produce(texts("1,GET /\xC0\xAE\xC0\xAE/x", "2,caf\xC3\xA9", "3,\xFF\xFE")...)
			j.create()
			j.settle(outcome{rows: [][]string{{"2", "café"}}, errors: []string{"UTF-8", "UTF-8"}}, 3, 3)
			if raw := j.errorRows()[0]["raw"]; !strings.Contains(strings.ToUpper(raw), strings.ToUpper(hex.EncodeToString([]byte("\xC0\xAE")))) && !strings.Contains(strings.ToUpper(raw), `\XC0\XAE`) {
				t.Errorf("the sample is %q, want its bad bytes in hex", raw)
			}
		})
		t.Run("json", func(t *testing.T) {
			t.Parallel()
			runCase(t, mode, kase{load: load{columns: columns, properties: json()}, messages: texts(`{"id":4,"s":"` + "\xFF" + `"}`),
				want: outcome{errors: []string{"UTF-8"}}})
		})
	})
}

// Odd \u escapes: a NUL is a character, half a surrogate pair is none.
func TestC14(t *testing.T) {
	messages := texts(`{"id":1,"s":"ab\u0000cd"}`, `{"id":2,"s":"\ud83d\ude00"}`, `{"id":3,"s":"\ud83d"}`, `{"id":4,"s":"\u00"}`, `{"id":5,"s":"\u00e9\t\"\\"}`)
	runBoth(t, map[string]kase{"": {
		load: load{columns: "(id INT, s VARCHAR(10))", properties: json()}, messages: messages,
		want: outcome{query: "SELECT id, s, LENGTH(s) FROM t",
			rows:   [][]string{{"1", "ab\x00cd", "5"}, {"2", "😀", "4"}, {"5", "é\t\"\\", "5"}},
			errors: []string{"surrogate", "escape"}},
	}})
}
