package sim

import (
	"strings"
	"testing"
)

// Each mutation breaks one rule, and the property that it breaks is seen to be
// violated within these many seeds. This proves that the checker can fail.
func TestMutations(t *testing.T) {
	for _, m := range []struct {
		name     string
		mutation Mutation
		property string
	}{
		{"the ledger check is off", NoConflicts, "S1"},
		{"the rowset of a refused txn is visible", SplitApply, "S"},
		{"ranges are not in snapshots", SnapshotWithoutRanges, "S"},
		{"accept before commit", AcceptFirst, "A1"},
		{"holes are bridged", BridgeHoles, "S2"},
		{"void is declared unread", VoidUnread, "S2"},
		{"nothing is audited", NoAudit, "L1"},
		{"files are named by label", NamesByLabel, "F1"},
		{"a conflict is taken as done for all", AcceptConflicts, "A1"},
	} {
		t.Run(m.name, func(t *testing.T) {
			caught, seen := "", map[string]int{}
			for s := uint64(1); s <= 300 && caught == ""; s++ {
				cfg := randomConfig(s)
				cfg.Mutation = m.mutation
				o := Run(cfg, false)
				if o.Violation != "" {
					seen[o.Violation[:2]]++
				}
				if strings.HasPrefix(o.Violation, m.property) {
					caught = o.Violation
					t.Logf("seed %d: %s", s, o.Violation)
				}
			}
			if caught == "" {
				t.Errorf("not caught in 300 seeds; seen: %v", seen)
			}
		})
	}
}
