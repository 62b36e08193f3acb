package cases

import (
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// Decimals out of range are refused, never cut down.
func TestC26(t *testing.T) {
	messages := texts("1,1", "2,28", "3,99.94", "4,99.95", "5,400", "6,-100", "7,12.34", "8,1e1", "9,1e2")
	want := outcome{
		rows:   [][]string{{"1", "1.0"}, {"2", "28.0"}, {"3", "99.9"}, {"7", "12.3"}, {"8", "10.0"}},
		errors: []string{"out of the range of decimal(3,1)", "decimal(3,1)", "decimal(3,1)", "decimal(3,1)"},
	}
	runBoth(t, map[string]kase{
		"loose":  {load: load{columns: "(id INT, k DECIMAL(3,1))"}, messages: messages, want: want},
		"strict": {load: load{columns: "(id INT, k DECIMAL(3,1))", properties: map[string]string{"strict_mode": "true"}}, messages: messages, want: want},
	})
}

// NaN, infinity and exponents: what is no finite number is NULL, or an error row
// in strict mode, in every type of numbers.
func TestC27(t *testing.T) {
	const columns = "(id INT, f DOUBLE, d DECIMAL(38,9))"
	messages := texts("1,NaN,NaN", "2,Infinity,-inf", "3,1e309,1", "4,-0.0,1e-10")
	runBoth(t, map[string]kase{
		"loose": {
			load: load{columns: columns}, messages: messages,
			want: outcome{rows: [][]string{{"1", null, null}, {"2", null, null}, {"3", null, "1.000000000"}, {"4", "-0", "0.000000000"}}},
		},
		"strict": {
			load: load{columns: columns, properties: map[string]string{"strict_mode": "true"}}, messages: messages[3:],
			want: outcome{rows: [][]string{{"4", "-0", "0.000000000"}}},
		},
		"strict, no number": {
			load: load{columns: columns, properties: map[string]string{"strict_mode": "true"}}, messages: messages[:2],
			want: outcome{errors: []string{"no double", "no double"}},
		},
		"json": {load: load{columns: columns, properties: json()}, messages: texts(`{"id":5,"f":NaN}`), want: outcome{errors: []string{"JSON"}}},
	})
}

// Epoch seconds, milliseconds and microseconds, in the job's time zone, which
// is not the server's and survives a restart.
func TestC29(t *testing.T) {
	t.Parallel()
	p := cluster.New(t, "standalone")
	p.Setenv("TZ", "America/New_York")
	p.Run()
	db := p.DB()
	for _, tt := range []struct{ zone, want string }{{"Etc/UTC", "2022-12-19 00:00:00"}, {"Asia/Shanghai", "2022-12-19 08:00:00"}} {
		for _, mode := range []string{classic, share} {
			t.Run(tt.zone+" "+mode, func(t *testing.T) {
				j := prepare(t, db, testkafka.Shared(t), mode, load{columns: "(id INT, ms BIGINT, ts DATETIME)",
					clauses: "COLUMNS(id, ms, ts=from_unixtime(ms/1000))", properties: map[string]string{"timezone": tt.zone}})
				j.produce(texts("1,1671408000000")...)
				j.create()
				j.settle(outcome{rows: [][]string{{"1", "1671408000000", tt.want}}}, 1, 1)
				p.Stop()
				p.Run()
				j.produce(texts("2,1671408000000")...)
				j.settle(outcome{rows: [][]string{{"1", "1671408000000", tt.want}, {"2", "1671408000000", tt.want}}}, 2, 2)
			})
		}
	}
}

// Milliseconds where a time is wanted are no time, and no year far away.
func TestC29Unmapped(t *testing.T) {
	load := load{columns: "(id INT, ts DATETIME)"}
	strict := load
	strict.properties = map[string]string{"strict_mode": "true"}
	runBoth(t, map[string]kase{
		"loose":  {load: load, messages: texts("2,1671408000000"), want: outcome{rows: [][]string{{"2", null}}}},
		"strict": {load: strict, messages: texts("2,1671408000000"), want: outcome{errors: []string{"column ts: the value is no datetime"}}},
	})
}
