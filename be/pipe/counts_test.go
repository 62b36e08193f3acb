package pipe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shoal/be/source"
	backendv1 "shoal/proto/backend/v1"
	typesv1 "shoal/proto/types/v1"
)

// Jobs whose rows may be loaded, in error, or unselected, for one reason or
// another.
var mappedJobs = []func(*typesv1.RoutineLoad){
	func(*typesv1.RoutineLoad) {},
	func(l *typesv1.RoutineLoad) { l.Where = "a > 3" },
	func(l *typesv1.RoutineLoad) { l.PrecedingFilter = "b like '%1%'"; l.StrictMode = true },
	func(l *typesv1.RoutineLoad) {
		l.LoadColumns = []*typesv1.LoadColumn{{Name: "a"}, {Name: "b"}, {Name: "c", Expr: "json_unquote(b)"}, {Name: "a", Expr: "a + length(c)"}}
		l.PrecedingFilter, l.Where, l.StrictMode = "json_unquote(b) <> 'x'", "a % 2 = 0 or json_unquote(c) is null", true
	},
}

func mappedSpec(job func(*typesv1.RoutineLoad), format typesv1.RoutineLoad_Format) *backendv1.TaskSpec {
	spec := specFor(columns("a INT", "b STRING NOT NULL", "c VARCHAR(4)"), format)
	spec.Load.LoadColumns = []*typesv1.LoadColumn{{Name: "a"}, {Name: "b"}}
	job(spec.Load)
	return spec
}

// TestCountsAddUp: each row of each message is loaded, an error row or
// unselected, whatever the job and the messages.
func TestCountsAddUp(t *testing.T) {
	var specs []*backendv1.TaskSpec
	for i, job := range mappedJobs {
		spec := mappedSpec(job, typesv1.RoutineLoad_FORMAT_CSV)
		spec.TaskId = uint64(i)
		specs = append(specs, spec)
	}
	pipes := newPipes(t, specs...)
	number := uint64(0)
	line := rapid.SampledFrom([]string{"1,a", "2,\"x\"", "3,\"a\"\"\"", "4,\\N", "\\N,11", "x,1", "5", "6,1,2", "7,{\"a\":1}", "\xFF,1", "8,long text", "9,\"x\\\""})
	rapid.Check(t, func(t *rapid.T) {
		number++
		var part source.Partition
		rows, empty := int64(0), int64(0)
		for offset := range rapid.IntRange(1, 40).Draw(t, "messages") {
			lines := rapid.SliceOfN(line, 0, 5).Draw(t, "lines")
			rows += int64(len(lines))
			if len(lines) == 0 {
				empty++
			}
			repeat := rapid.SampledFrom([]int{1, 1, 1, 1, 900}).Draw(t, "repeat") // beyond a batch
			rows += int64(len(lines) * (repeat - 1))
			lines = slices.Repeat(lines, repeat)
			part.Records = append(part.Records, &source.Record{Offset: int64(offset), Value: []byte(strings.Join(lines, "\n"))})
		}
		i := rapid.IntRange(0, len(pipes)-1).Draw(t, "job")
		res, err := pipes[i].Write(context.Background(), number, "l", []source.Partition{part})
		if err != nil {
			t.Fatal(err)
		}
		c := res.Counters
		if c.TotalRows != rows || c.EmptyMessages != empty || c.LoadedRows+c.ErrorRows+c.UnselectedRows != rows || c.LoadedRows != res.Rowset.GetRows() {
			t.Fatalf("job %d: counters %v, rowset %v, want %d rows and %d empty", i, c, res.Rowset, rows, empty)
		}
	})
}

// A mapping that changes nothing loads what the decoder alone does.
func TestMappingIsTransparent(t *testing.T) {
	plain := specFor(columns("id INT NOT NULL", "d DECIMAL(20,3)", "f DOUBLE", "s VARCHAR(6)", "t DATETIME(3)", "j JSON"), typesv1.RoutineLoad_FORMAT_JSON)
	mapped := specFor(plain.Schema, typesv1.RoutineLoad_FORMAT_JSON)
	mapped.TaskId, mapped.Load.Where, mapped.Load.PrecedingFilter = 99, "id is not null", "1 = 1"
	pipes := newPipes(t, plain, mapped)
	var messages []string
	for i := range 5_000 {
		messages = append(messages, fmt.Sprintf(`{"id":%d,"d":%d.%03d,"f":%g,"s":"t\u00e9xt%d","t":"2024-01-0%d 01:02:03.%03d","j":{"n":[%d]}}`, i, i*7919, i%1000, float64(i)/7, i%11, i%10, i%1000, i))
	}
	messages = append(messages, `{"id":null}`, `{"id":1,"s":"much too long"}`, `{"id":"x"}`, "[", `{"d":1e99,"id":2}`)
	var got [2][]string
	for i, p := range pipes {
		res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, messages...)})
		if err != nil {
			t.Fatal(err)
		}
		got[i] = append(p.query(t, "SELECT * FROM read_parquet('%s') ORDER BY id, s", res.Rowset.Path),
			p.query(t, "SELECT kafka_offset, line, column_name, source_value, reason, raw FROM read_parquet('%s')", res.ErrorRowset.Path)...)
	}
	if !slices.Equal(got[0], got[1]) {
		t.Errorf("plain gives %d rows, mapped %d", len(got[0]), len(got[1]))
		for i := range got[0] {
			if got[0][i] != got[1][i] {
				t.Fatalf("row %d is\n%s\nmapped\n%s", i, got[0][i], got[1][i])
			}
		}
	}
}

// Rows that expressions fail on say why, but not all of very many.
func TestManyFailingRows(t *testing.T) {
	p := newPipe(t, mappedSpec(mappedJobs[3], typesv1.RoutineLoad_FORMAT_CSV))
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, strings.Repeat("1,\"a\"\"\"\n", 5_000)+"2,12")})
	if err != nil {
		t.Fatal(err)
	}
	if c := res.Counters; c.ErrorRows != 5_000 || c.LoadedRows != 1 {
		t.Fatalf("counters %v", c)
	}
	got := p.query(t, "SELECT count(*), min(line), max(line), regexp_replace(reason, ' failed.*', '') FROM read_parquet('%s') GROUP BY contains(reason, ': '), 4 ORDER BY 2", res.ErrorRowset.Path)
	if want := []string{"20 1 20 PRECEDING FILTER", "4980 21 5000 PRECEDING FILTER"}; !slices.Equal(got, want) {
		t.Errorf("reasons %q, want %q", got, want)
	}
}

// A reason does not grow with the value that it is about.
func TestReasonsAreShort(t *testing.T) {
	p := newPipe(t, mappedSpec(mappedJobs[3], typesv1.RoutineLoad_FORMAT_CSV))
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, `1,"`+strings.Repeat("é", 1<<20)+`"""`)})
	if err != nil || len(res.Samples) != 1 {
		t.Fatal(res, err)
	}
	if s := res.Samples[0]; len(s.Reason) > 400 || !strings.Contains(s.Reason, "Malformed JSON") || len(s.Raw) > 300 {
		t.Errorf("the reason has %d bytes, the sample %d: %.500s", len(s.Reason), len(s.Raw), s.Reason)
	}
}

// A write that is cancelled while expressions are evaluated leaves nothing.
func TestMappedWriteIsCancelledHalfway(t *testing.T) {
	p := newPipe(t, mappedSpec(mappedJobs[3], typesv1.RoutineLoad_FORMAT_CSV))
	lines := strings.Repeat("2,12\n", 100_000)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	half := &lapsing{Context: ctx, cancel: cancel}
	half.left.Store(60)
	if _, err := p.Write(half, 1, "l", []source.Partition{partition(0, lines)}); !errors.Is(err, context.Canceled) {
		t.Fatalf("a write that was cancelled halfway = %v", err)
	}
	if files := p.files(t); len(files) != 0 {
		t.Fatalf("it left %q", files)
	}
	if res, err := p.Write(t.Context(), 2, "l", []source.Partition{partition(0, lines)}); err != nil || res.Rowset.Rows != 100_000 {
		t.Fatalf("the write after = %+v, %v", res, err)
	}
}

// FuzzMapped: no message breaks a mapped pipe, and its rows are all counted.
func FuzzMapped(f *testing.F) {
	for _, s := range []string{"1,a", "2,\"x\"\n3,\"", "4,\\N", "\xFF,1\n\n\r\n", `{"a":1,"b":"2"}`, `{"a":{"b":"\ud83d"}}`, "[", "\xEF\xBB\xBF1,2", `{"b":"\u0000","a":1e999}`} {
		f.Add([]byte(s))
	}
	var specs []*backendv1.TaskSpec
	for _, format := range []typesv1.RoutineLoad_Format{typesv1.RoutineLoad_FORMAT_CSV, typesv1.RoutineLoad_FORMAT_JSON} {
		spec := mappedSpec(mappedJobs[3], format)
		spec.TaskId = uint64(format)
		specs = append(specs, spec)
	}
	pipes := newPipes(f, specs...)
	number := uint64(0)
	f.Fuzz(func(t *testing.T, message []byte) {
		number++
		part := source.Partition{Records: []*source.Record{{Value: message, Key: message, Offset: 1}, {Value: bytes.ToUpper(message), Offset: 2}}}
		for _, p := range pipes {
			res, err := p.Write(t.Context(), number, "l", []source.Partition{part})
			if err != nil {
				t.Fatal(err)
			}
			if c := res.Counters; c.LoadedRows+c.ErrorRows+c.UnselectedRows != c.TotalRows || c.TotalRows == 0 && c.EmptyMessages != 2 {
				t.Fatalf("counters %v", c)
			}
		}
	})
}

// Error rows with much text, more than a batch holds, do not end the rows.
func TestLargeErrorRows(t *testing.T) {
	p := newPipe(t, specFor(columns("s STRING", "id INT NOT NULL"), typesv1.RoutineLoad_FORMAT_CSV))
	large := strings.Repeat("x", 1<<20)
	res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, large+",a", large+",b", large+",c", large+",d", large+",e", "f,6")})
	if err != nil {
		t.Fatal(err)
	}
	if c := res.Counters; c.LoadedRows != 1 || c.ErrorRows != 5 || c.TotalRows != 6 {
		t.Errorf("counters %v", c)
	}
}
