package verdict_test

import (
	"testing"

	"shoal/fe/kafka"
	"shoal/fe/state/ledger"
	"shoal/fe/verdict"
	"shoal/internal/offsets"
	typesv1 "shoal/proto/types/v1"
)

// TestOlderLook: the lag does not contradict a ledger that is newer than the
// look at the log and the group.
func TestOlderLook(t *testing.T) {
	looked := kafka.Partition{Log: kafka.Log{End: 2918, StableEnd: 2918}, Position: kafka.Position{Start: 2903, Lag: 15}}
	for name, tt := range map[string]struct {
		ledger   ledger.View
		lag, end int64
	}{
		"older ledger":     {ledger.View{Settled: 2903}, 15, 2918},
		"partly settled":   {ledger.View{Settled: 2910}, 8, 2918},
		"settled all":      {ledger.View{Settled: 2918}, 0, 2918},
		"settled more":     {ledger.View{Settled: 2940}, 0, 2940},
		"settled with gap": {ledger.View{Settled: 2910, Ranges: offsets.Of(offsets.Range{First: 2912, Last: 2939})}, 2, 2940},
	} {
		for _, mode := range []typesv1.RoutineLoad_Mode{typesv1.RoutineLoad_MODE_SHARE_GROUP, typesv1.RoutineLoad_MODE_CLASSIC} {
			if lag, known := verdict.PartitionLag(&typesv1.RoutineLoad{Mode: mode}, tt.ledger, looked); !known || lag != tt.lag {
				t.Errorf("%s, %v: lag %d, %v, want %d", name, mode, lag, known, tt.lag)
			}
		}
		if end := verdict.LogEnd(tt.ledger, looked); end != tt.end {
			t.Errorf("%s: log end %d, want %d", name, end, tt.end)
		}
	}
}
