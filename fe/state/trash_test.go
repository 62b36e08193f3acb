package state_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// loaded is a cluster with two txns in table t, the second of which has error
// rows.
func loaded(t *testing.T) *cluster {
	c := newCluster(t)
	for i, req := range []*raftlogv1.Command{commitTxns(c.txn(0, 1, [2]int64{0, 9})), commitTxns(withErrorFile(c.txn(1, 1, [2]int64{10, 19}), 2))} {
		if a := c.do(req).Txns[0]; a.Outcome != committed {
			t.Fatalf("txn %d: %v", i, a)
		}
	}
	return c
}

// What the state lets go is listed, with the index and time of the command that
// did it, and with nothing that it still has.
func TestLetGo(t *testing.T) {
	drop := func(c *cluster) *raftlogv1.Command {
		return &raftlogv1.Command{Body: &raftlogv1.Command_DropTable{DropTable: &raftlogv1.DropTable{TableId: c.table}}}
	}
	for name, tt := range map[string]struct {
		do   func(*cluster) *raftlogv1.Command
		want []string // of the files: 0 and 1 are the txns' rows, e the error rows
	}{
		"DROP TABLE": {drop, []string{"0", "1"}},
		"TRUNCATE TABLE": {func(c *cluster) *raftlogv1.Command {
			return &raftlogv1.Command{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: c.table}}}
		}, []string{"0", "1"}},
		"DROP DATABASE": {func(c *cluster) *raftlogv1.Command {
			return &raftlogv1.Command{Body: &raftlogv1.Command_DropDatabase{DropDatabase: &raftlogv1.DropDatabase{Name: "db"}}}
		}, []string{"0", "1"}},
		"a job is forgotten": {func(c *cluster) *raftlogv1.Command {
			c.changeJob(raftlogv1.JobState_JOB_STATE_STOPPED)
			return &raftlogv1.Command{Body: &raftlogv1.Command_RemoveJob{RemoveJob: &raftlogv1.RemoveJob{JobId: c.job}}}
		}, []string{"e"}},
		"CONFLICT": {func(c *cluster) *raftlogv1.Command {
			return commitTxns(withErrorFile(c.txn(0, 2, [2]int64{0, 9}), 1))
		}, []string{"own", "own-errors"}},
		"ABORTED": {func(c *cluster) *raftlogv1.Command {
			c.changeJob(raftlogv1.JobState_JOB_STATE_PAUSED)
			return commitTxns(c.txn(0, 2, [2]int64{20, 29}))
		}, []string{"own"}},
		"asked again": {func(c *cluster) *raftlogv1.Command { return commitTxns(c.txn(0, 1, [2]int64{0, 9})) }, nil},
		"FENCED": {func(c *cluster) *raftlogv1.Command {
			req := c.txn(0, 2, [2]int64{20, 29})
			req.Epoch--
			return commitTxns(req)
		}, nil},
		"WAIT": {func(c *cluster) *raftlogv1.Command {
			req := c.txn(0, 2, [2]int64{20, 29})
			req.Partitions[0].Partition = 9
			return commitTxns(req)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := loaded(t)
			files := map[string]string{c.ErrorRowsets(c.job)[0].Rowset.Path: "e"}
			for i, r := range c.Rowsets(c.table) {
				files[r.Rowset.Path] = fmt.Sprint(i)
			}
			cmd := tt.do(c)
			for _, req := range cmd.GetCommitTxns().GetTxns() {
				if files[req.Rowset.Path] == "" {
					files[req.Rowset.Path], files[req.ErrorRowset.GetPath()] = "own", "own-errors"
				}
			}
			c.do(cmd)
			var got []string
			for _, f := range c.Trash() {
				got = append(got, files[f.Path])
				if f.Index != c.index || f.AtMs != cmd.AtMs || f.Bytes == 0 {
					t.Errorf("%v was let go at index %d, %d ms", f, c.index, cmd.AtMs)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("trash is %v, want %v", got, tt.want)
			}
		})
	}
	t.Run("a log of an older release", func(t *testing.T) {
		c := loaded(t)
		if r := c.Apply(c.index+1, drop(c)); r.Err != nil || len(c.Trash()) > 0 {
			t.Errorf("%v, trash %v", r.Err, c.Trash())
		}
	})
}

func TestRemoveTrash(t *testing.T) {
	c := loaded(t)
	c.do(&raftlogv1.Command{Body: &raftlogv1.Command_TruncateTable{TruncateTable: &raftlogv1.TruncateTable{TableId: c.table}}})
	before := c.Clone()
	first, second := c.Trash()[0], c.Trash()[1]
	for range 2 { // by two leaders
		c.do(&raftlogv1.Command{Body: &raftlogv1.Command_RemoveTrash{RemoveTrash: &raftlogv1.RemoveTrash{Paths: []string{first.Path, "other"}}}})
		if got := c.Trash(); len(got) != 1 || got[0] != second {
			t.Errorf("left is %v", got)
		}
	}
	if len(before.Trash()) != 2 {
		t.Errorf("a clone has %v", before.Trash())
	}
}

// An error rowset that is one too many is let go.
func TestLetGoOfOldErrors(t *testing.T) {
	c := newCluster(t)
	for i := range jobs.MaxErrorRowsets + 1 {
		req := withErrorFile(c.void(0, uint64(i+1), [2]int64{int64(i), int64(i)}), 1)
		req.Counters.ErrorRows = 0 // or the job would be paused
		if a := c.commit(req); a.Outcome != committed {
			t.Fatal(a)
		}
	}
	if got := c.Trash(); len(got) != 1 || !strings.HasSuffix(got[0].Path, "_1") || got[0].Index != c.index {
		t.Errorf("trash is %v", got)
	}
}
