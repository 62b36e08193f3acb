package pipe_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"shoal/be/source"
	typesv1 "shoal/proto/types/v1"
)

// A producer may write any number as a record's timestamp. What is no time is
// NULL, and fails nothing.
func TestAnyTimestamp(t *testing.T) {
	spec := specFor(columns("id INT NOT NULL", "at DATETIME(3)"), typesv1.RoutineLoad_FORMAT_CSV)
	spec.Load.Timezone, spec.Load.DeadLetterTopic = "Asia/Shanghai", "dead"
	spec.Load.LoadColumns = []*typesv1.LoadColumn{{Name: "id"}, {Name: "at", Expr: "kafka_timestamp"}}
	p := newPipe(t, spec)
	var part source.Partition
	for i, ms := range []int64{0, -1, math.MaxInt64, math.MinInt64, 253402300799999, 253402300800000, -62135596800000, -62135596800001} {
		for _, value := range []string{fmt.Sprint(i), "x"} {
			part.Records = append(part.Records, &source.Record{Offset: int64(len(part.Records)), Timestamp: time.UnixMilli(ms), Value: []byte(value)})
		}
	}
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{part})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(p.query(t, "SELECT \"at\" FROM read_parquet('%s')", res.Rowset.Path), p.query(t, "SELECT message_timestamp FROM read_parquet('%s')", res.ErrorRowset.Path))
	want := "[1970-01-01 08:00:00 NULL NULL NULL NULL NULL 0001-01-01 08:05:43 NULL] [1970-01-01 00:00:00 NULL NULL NULL 9999-12-31 23:59:59.999 NULL 0001-01-01 00:00:00 NULL]"
	if got != want {
		t.Errorf("times are\n%s\nwant\n%s", got, want)
	}
}
