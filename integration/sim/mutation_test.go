package sim

import (
	"strings"
	"testing"
	"time"
)

// restarts is weather in which a commit often arrives late, from a process that
// was started again.
func restarts(cfg *Config) {
	cfg.Faults = []Fault{KillInStep, KillBackend, KillFrontend}
	cfg.Unsettled, cfg.Network = 2*time.Second, 0.5
	cfg.Weather, cfg.Records, cfg.BatchRows = 2*time.Minute, 120, 5
}

// powerCuts is weather in which backends run an epoch twice, since who leads does
// not know of the first time, and commits are late.
func powerCuts(cfg *Config) {
	restarts(cfg)
	cfg.Classic, cfg.Tasks = false, 6
	cfg.Faults, cfg.Network = []Fault{PowerCut, SlowWrites}, 0.6
}

// refusedLate is weather in which a txn is asked again after its task has moved
// on, since answers are lost.
func refusedLate(cfg *Config) {
	restarts(cfg)
	cfg.Faults = []Fault{KillBackend, KillFrontend, SlowWrites}
	cfg.Unsettled = 4 * time.Second
}

// refusals is weather in which classic tasks give back what they have read.
func refusals(cfg *Config) {
	cfg.Classic, cfg.Partitions = true, 1
	cfg.Faults = []Fault{FullWarehouse, SlowWrites, KillFrontend}
	cfg.Network, cfg.Lock = 0.2, time.Minute
}

// crashes is weather in which disks are slow and machines die.
func crashes(cfg *Config) {
	cfg.Faults = []Fault{KillBackend, KillFrontend, SlowDisk, ChangeLeader}
	cfg.Unsettled, cfg.Network = time.Second, 0.1
}

// interleaved has many tasks hold little of one partition each.
func interleaved(cfg *Config) {
	cfg.Classic, cfg.Partitions, cfg.Tasks, cfg.Backends, cfg.Slots = false, 1, 6, 3, 2
	cfg.FetchRecords, cfg.Lock, cfg.Network = 2, 2*time.Second, 0.2
}

var mutations = []struct {
	name     string
	mutation Mutation
	weather  func(*Config) // nil: any
	property string
}{
	{"the ledger check is off", NoConflicts, nil, "S1"},
	{"a rowset is visible without its ranges", SplitApply, nil, "S2"},
	{"ranges are not in snapshots", SnapshotWithoutRanges, interleaved, "S2"},
	{"accept before commit", AcceptFirst, nil, "A1"},
	{"holes are bridged", BridgeHoles, interleaved, "S2"},
	{"void is declared unread", VoidUnread, nil, "S2"},
	{"void is declared beyond the log's end", VoidBeyondEnd, nil, "S2"},
	{"nothing is audited", NoAudit, nil, "L1"},
	{"a group that stands still is left so", NoPinAgain, nil, "L1"},
	{"files are overwritten", OverwriteFiles, powerCuts, "S"},
	{"a conflict is taken as done for all", AcceptConflicts, nil, "A1"},
	{"nothing is repaired", NoRepair, nil, "L1"},
	{"what is released is not read again", NoRewind, refusals, "L1"},
	{"a backend deletes its file after a refusal", DeleteRefused, refusedLate, "S2"},
	{"the fence is off, and files are removed by epoch", NoFence, restarts, "S2"},
	{"files are committed before they are synced", UnsyncedFiles, crashes, "S2"},
	{"a frontend answers before its log is synced", UnsyncedLog, crashes, "F1"},
	{"a frontend votes for an older log", BlindVotes, crashes, "F1"},
	{"a frontend forgets its vote", ForgottenVotes, crashes, "F2"},
}

func (m Mutation) in(weather func(*Config)) func(seed uint64) Config {
	return func(seed uint64) Config {
		cfg := randomConfig(seed)
		cfg.Mutation = m
		if weather != nil {
			weather(&cfg)
		}
		return cfg
	}
}

// Each mutation breaks one rule, and the property that it breaks is seen to be
// violated within these many seeds. This proves that the checker can fail.
func TestMutations(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			seen := map[string]int{}
			caught := false
			each(1, 1000, m.mutation.in(m.weather), func(cfg Config, o Outcome) bool {
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

// Each of two rules that guard the same may be off, as long as no file is
// removed for the sake of it: the ledger alone lets no offset be loaded twice.
func TestDoubleDefences(t *testing.T) {
	for name, mutation := range map[string]Mutation{"numbers are off": NoNumbers, "the fence is off": NoFence} {
		t.Run(name, func(t *testing.T) {
			each(1, *double, func(seed uint64) Config {
				cfg := mutation.in(nil)(seed)
				if seed%2 == 0 {
					restarts(&cfg)
				}
				cfg.KeepFiles = true
				return cfg
			}, func(cfg Config, o Outcome) bool {
				if o.Violation != "" {
					t.Errorf("seed %d: %s", cfg.Seed, o.Violation)
				}
				return o.Violation == ""
			})
		})
	}
}
