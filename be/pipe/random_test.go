package pipe_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"shoal/be/source"
	typesv1 "shoal/proto/types/v1"
)

// sample is a row as it goes in and as it must come out.
type sample struct {
	id     int64
	amount string // DECIMAL(38,9)
	ratio  float64
	at     time.Time // to the microsecond
	note   string
}

func randomSample(rng *rand.Rand) sample {
	unscaled := randomBelow(rng, new(big.Int).Exp(big.NewInt(10), big.NewInt(1+rng.Int64N(38)), nil))
	digits := fmt.Sprintf("%010s", unscaled)
	amount := digits[:len(digits)-9] + "." + digits[len(digits)-9:]
	if unscaled.Sign() > 0 && rng.IntN(2) == 0 {
		amount = "-" + amount
	}
	ratio := math.Float64frombits(rng.Uint64())
	for math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		ratio = rng.NormFloat64()
	}
	const first, last = -62135596800, 253402300799 // the years 1 to 9999
	note := make([]rune, rng.IntN(40))
	for i := range note {
		note[i] = []rune(`ab,"\/'` + "é日😀\t\u0001\u2028")[rng.IntN(13)]
	}
	return sample{int64(rng.Uint64()), amount, ratio, time.Unix(first+rng.Int64N(last-first+1), rng.Int64N(1e6)*1000).UTC(), string(note)}
}

// randomBelow is a number of up to 128 random bits, below limit.
func randomBelow(rng *rand.Rand, limit *big.Int) *big.Int {
	n := new(big.Int).SetUint64(rng.Uint64())
	n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(rng.Uint64()))
	return n.Mod(n, limit)
}

func (s sample) json(t *testing.T) string {
	note, err := json.Marshal(s.note)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"note":%s,"at":%q,"ratio":%s,"amount":%s,"id":%d}`, note, s.at.Format("2006-01-02T15:04:05.000000"),
		strconv.FormatFloat(s.ratio, 'g', -1, 64), s.amount, s.id)
}

func (s sample) csv() string {
	return strings.Join([]string{strconv.FormatInt(s.id, 10), s.amount, strconv.FormatFloat(s.ratio, 'e', -1, 64),
		s.at.Format("2006-01-02 15:04:05.999999"), s.note}, "||")
}

// TestRandomRowsComeBack writes rows made by chance in either format and reads
// them again, bit by bit.
func TestRandomRowsComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var rows []sample
	var asJSON, asCSV []string
	for range 5000 {
		s := randomSample(rng)
		rows = append(rows, s)
		asJSON, asCSV = append(asJSON, s.json(t)), append(asCSV, s.csv())
	}
	schema := columns("id BIGINT NOT NULL", "amount DECIMAL(38,9)", "ratio DOUBLE", "at DATETIME(6)", "note STRING")
	for format, messages := range map[typesv1.RoutineLoad_Format][]string{
		typesv1.RoutineLoad_FORMAT_JSON: asJSON, typesv1.RoutineLoad_FORMAT_CSV: asCSV} {
		spec := specFor(schema, format)
		spec.Load.ColumnSeparator = "||"
		p := newPipe(t, spec)
		res, err := p.Write(t.Context(), 1, "l", []source.Partition{partition(0, messages...)})
		if err != nil || res.ErrorRowset != nil {
			t.Fatalf("%v: %v, samples %v", format, err, res.Samples)
		}
		p.compare(t, res.Rowset.Path, rows)
	}
}

func (b *bench) compare(t *testing.T, rel string, want []sample) {
	t.Helper()
	path := localPath(t, b.warehouse, rel)
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	result, err := db.Query("SELECT id, amount::VARCHAR, ratio, epoch_us(\"at\"), note FROM read_parquet('" + path + "')")
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	n := 0
	for ; result.Next(); n++ {
		var got sample
		var micros int64
		if err := result.Scan(&got.id, &got.amount, &got.ratio, &micros, &got.note); err != nil {
			t.Fatal(err)
		}
		got.at = time.UnixMicro(micros).UTC()
		if w := want[n]; got != w || math.Signbit(got.ratio) != math.Signbit(w.ratio) {
			t.Fatalf("row %d is %+v, want %+v", n, got, w)
		}
	}
	if err := result.Err(); err != nil || n != len(want) {
		t.Fatalf("%d rows, %v; want %d", n, err, len(want))
	}
}
