package sim

import (
	"strings"
	"testing"
	"time"
)

// Each mutation breaks one rule, and the property that it breaks is seen to be
// violated within these many seeds. This proves that the checker can fail.
func TestMutations(t *testing.T) {
	// A commit that arrives late, from a process that was started again.
	restarts := func(cfg *Config) {
		cfg.Faults = []Fault{KillBackend, KillFrontend, SlowWrites}
		cfg.Unsettled, cfg.Network = 4*time.Second, 0.5
		cfg.Weather, cfg.Records, cfg.BatchRows = 2*time.Minute, 120, 5
	}
	for _, m := range []struct {
		name     string
		mutation Mutation
		weather  func(*Config) // nil: any
		property string
	}{
		{"the ledger check is off", NoConflicts, nil, "S1"},
		{"the rowset of a refused txn is visible", SplitApply, nil, "S"},
		{"ranges are not in snapshots", SnapshotWithoutRanges, nil, "S"},
		{"accept before commit", AcceptFirst, nil, "A1"},
		{"holes are bridged", BridgeHoles, nil, "S2"},
		{"void is declared unread", VoidUnread, nil, "S2"},
		{"nothing is audited", NoAudit, nil, "L1"},
		{"a group that stands still is left so", NoPinAgain, nil, "L1"},
		{"files are overwritten", OverwriteFiles, restarts, "S"},
		{"a conflict is taken as done for all", AcceptConflicts, nil, "A1"},
		{"nothing is repaired", NoRepair, nil, "L1"},
		{"what is released is not read again", NoRewind, func(cfg *Config) { cfg.Classic = true }, "L1"},
	} {
		t.Run(m.name, func(t *testing.T) {
			seen := map[string]int{}
			caught := false
			each(1, 1000, func(seed uint64) Config {
				cfg := randomConfig(seed)
				cfg.Mutation = m.mutation
				if m.weather != nil {
					m.weather(&cfg)
				}
				return cfg
			}, func(cfg Config, o Outcome) bool {
				if o.Violation != "" {
					seen[o.Violation[:2]]++
				}
				caught = strings.HasPrefix(o.Violation, m.property)
				if caught {
					t.Logf("seed %d: %s", cfg.Seed, o.Violation)
				}
				return !caught
			})
			if !caught {
				t.Errorf("not caught; seen: %v", seen)
			}
		})
	}
}
