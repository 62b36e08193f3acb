package pipe_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"shoal/be/source"
	typesv1 "shoal/proto/types/v1"
)

// The benchmarks write web server's log events of about 134 bytes as JSON, one
// txn an iteration.
func BenchmarkPipeJSON(b *testing.B) {
	benchmarkPipe(b, typesv1.RoutineLoad_FORMAT_JSON, `{"id":%d,"ts":"2026-11-30 13:%02d:%02d.%03d","host":"web-%d.example.net","path":"/shop/items/%d","status":200,"cost":%d.%03d}`)
}

func BenchmarkPipeCSV(b *testing.B) {
	benchmarkPipe(b, typesv1.RoutineLoad_FORMAT_CSV, "%d,2026-11-30 13:%02d:%02d.%03d,web-%d.example.net,/shop/items/%d,200,%d.%03d")
}

// The mapped ones do to each row what a job may: derive two of six columns and
// filter by a third; or filter only.
func BenchmarkPipeMapped(b *testing.B) {
	const message = "%d,2026-11-30 13:%02d:%02d.%03d,web-%d.example.net,/shop/items/%d,200,%d.%03d"
	b.Run("where", func(b *testing.B) {
		benchmarkPipe(b, typesv1.RoutineLoad_FORMAT_CSV, message, func(l *typesv1.RoutineLoad) { l.Where = "status < 500" })
	})
	b.Run("columns", func(b *testing.B) {
		benchmarkPipe(b, typesv1.RoutineLoad_FORMAT_CSV, message, func(l *typesv1.RoutineLoad) {
			for _, name := range []string{"id", "ts", "host", "path", "status", "cost"} {
				l.LoadColumns = append(l.LoadColumns, &typesv1.LoadColumn{Name: name})
			}
			l.LoadColumns = append(l.LoadColumns, &typesv1.LoadColumn{Name: "host", Expr: "upper(host)"}, &typesv1.LoadColumn{Name: "cost", Expr: "cost * 100"})
			l.PrecedingFilter = "path like '/shop/%'"
		})
	})
}

func benchmarkPipe(b *testing.B, format typesv1.RoutineLoad_Format, message string, change ...func(*typesv1.RoutineLoad)) {
	for _, rows := range []int{100, 2_000, 10_000, 100_000} {
		b.Run(fmt.Sprint("rows=", rows), func(b *testing.B) {
			spec := specFor(columns("id BIGINT NOT NULL", "ts DATETIME(3)", "host VARCHAR(64)", "path STRING", "status INT", "cost DECIMAL(12,3)"), format)
			for _, c := range change {
				c(spec.Load)
			}
			p := newPipe(b, spec)
			part := source.Partition{Topic: "events"}
			for i := range rows {
				value := fmt.Sprintf(message, i, i/60%60, i%60, i%1000, i%16, i*7919%100000, i%90, i%1000)
				part.Records = append(part.Records, &source.Record{Offset: int64(i), Value: []byte(value)})
			}
			b.ReportAllocs()
			cpu := cpuTime(b)
			for number := uint64(1); b.Loop(); number++ {
				res, err := p.Write(b.Context(), number, "l", []source.Partition{part})
				if err != nil || res.Rowset.Rows != int64(rows) {
					b.Fatal(res, err)
				}
				if err := os.Remove(localPath(b, p.warehouse, res.Rowset.Path)); err != nil {
					b.Fatal(err)
				}
			}
			reportRows(b, rows, cpu)
		})
	}
}

// reportRows gives rows a second, and a second of processor time, which says
// more where others use the machine.
func reportRows(b *testing.B, rows int, since time.Duration) {
	total := float64(b.N) * float64(rows)
	b.ReportMetric(total/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(total/(cpuTime(b)-since).Seconds(), "rows/cpu-s")
}

// cpuTime is the processor time of the process so far, DuckDB's threads
// included.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
