package decode_test

import (
	"fmt"
	"testing"

	typesv1 "shoal/proto/types/v1"
)

// eventSchema is a web server's log event.
var eventSchema = &typesv1.Schema{Version: 1, Columns: []*typesv1.Column{
	{FieldId: 1, Name: "id", Type: "BIGINT"},
	{FieldId: 2, Name: "ts", Type: "DATETIME(3)", Nullable: true},
	{FieldId: 3, Name: "host", Type: "VARCHAR(64)", Nullable: true},
	{FieldId: 4, Name: "path", Type: "STRING", Nullable: true},
	{FieldId: 5, Name: "status", Type: "INT", Nullable: true},
	{FieldId: 6, Name: "cost", Type: "DECIMAL(12,3)", Nullable: true},
}}

func BenchmarkDecodeJSON(b *testing.B) {
	benchmark(b, typesv1.RoutineLoad_FORMAT_JSON, func(i int) string {
		return fmt.Sprintf(`{"id":%d,"ts":"2026-11-30 13:%02d:%02d.%03d","host":"web-%d.example.net","path":"/shop/items/%d","status":200,"cost":%d.%03d}`,
			i, i/60%60, i%60, i%1000, i%16, i*7919%100000, i%90, i%1000)
	})
}

func BenchmarkDecodeCSV(b *testing.B) {
	benchmark(b, typesv1.RoutineLoad_FORMAT_CSV, func(i int) string {
		return fmt.Sprintf("%d\t2026-11-30 13:%02d:%02d.%03d\tweb-%d.example.net\t/shop/items/%d\t200\t%d.%03d",
			i, i/60%60, i%60, i%1000, i%16, i*7919%100000, i%90, i%1000)
	})
}

// The same values by jsonpaths, from below the top.
func BenchmarkDecodeJSONPaths(b *testing.B) {
	load := &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON,
		JsonPaths: []string{"$.id", "$.at.ts", "$.at.host", "$.request.path", "$.request.status", "$.request.costs[0]"}}
	benchmarkLoad(b, eventSchema, load, func(i int) string {
		return fmt.Sprintf(`{"id":%d,"at":{"ts":"2026-11-30 13:%02d:%02d.%03d","host":"web-%d.example.net"},"request":{"path":"/shop/items/%d","status":200,"costs":[%d.%03d]}}`,
			i, i/60%60, i%60, i%1000, i%16, i*7919%100000, i%90, i%1000)
	})
}

func BenchmarkDecodeCSVEnclosed(b *testing.B) {
	load := &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_CSV, ColumnSeparator: ",", Enclose: `"`}
	benchmarkLoad(b, eventSchema, load, func(i int) string {
		return fmt.Sprintf(`%d,2026-11-30 13:%02d:%02d.%03d,"web-%d.example.net","/shop/items/%d",200,%d.%03d`,
			i, i/60%60, i%60, i%1000, i%16, i*7919%100000, i%90, i%1000)
	})
}

// Values in an ARRAY, a MAP and a STRUCT.
func BenchmarkDecodeNested(b *testing.B) {
	schema := &typesv1.Schema{Columns: []*typesv1.Column{
		{FieldId: 1, Name: "tags", Type: "ARRAY<STRING>", Nullable: true}, {FieldId: 2, Name: "costs", Type: "MAP<STRING,DECIMAL(12,3)>", Nullable: true},
		{FieldId: 3, Name: "at", Type: "STRUCT<id:BIGINT,ts:DATETIME(3)>", Nullable: true}}}
	benchmarkLoad(b, schema, &typesv1.RoutineLoad{Format: typesv1.RoutineLoad_FORMAT_JSON}, func(i int) string {
		return fmt.Sprintf(`{"tags":["web-%d","shop"],"costs":{"net":%d.%03d,"tax":1.5},"at":{"id":%d,"ts":"2026-11-30 13:%02d:%02d.%03d"}}`,
			i%16, i%90, i%1000, i, i/60%60, i%60, i%1000)
	})
}

func benchmark(b *testing.B, format typesv1.RoutineLoad_Format, message func(int) string) {
	benchmarkLoad(b, eventSchema, &typesv1.RoutineLoad{Format: format}, message)
}

func benchmarkLoad(b *testing.B, schema *typesv1.Schema, load *typesv1.RoutineLoad, message func(int) string) {
	dec := newDecoder(b, schema, load)
	messages := make([][]byte, 10000)
	for i := range messages {
		messages[i] = []byte(message(i))
	}
	batch := dec.NewBatch()
	b.SetBytes(int64(len(messages[5000])))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		dec.Start(messages[i%len(messages)])
		for {
			more, bad := dec.Next(batch)
			if bad != nil {
				b.Fatal(bad.Reason)
			}
			if !more {
				break
			}
		}
		if batch.Full() {
			batch.Reset()
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
