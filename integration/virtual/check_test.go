package virtual

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/source"
	"shoal/fe/state"
	"shoal/fe/state/ledger"
	"shoal/internal/offsets"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// ledgers are the job's.
func (w *world) ledgers() (views []ledger.View) {
	w.fe.store.View(func(st *state.State) {
		for _, job := range st.Jobs() {
			views = append(views, st.Ledgers(job.Id)...)
		}
	})
	return views
}

// settledOffsets is how many offsets are settled.
func (w *world) settledOffsets() (n int64) {
	for _, l := range w.ledgers() {
		n += l.Settled + l.Ranges.Count()
	}
	return n
}

// ends is how many offsets each partition has now.
func (w *world) ends() map[int32]int64 {
	ends := map[int32]int64{}
	for _, p := range w.broker.PartitionInfos(topic) {
		ends[p.Partition] = p.HighWatermark
	}
	return ends
}

// settledBelow is an error unless each partition is settled to its end.
func (w *world) settledBelow(ends map[int32]int64) error {
	for _, l := range w.ledgers() {
		if l.Settled < ends[l.Partition] {
			return fmt.Errorf("partition %d is settled to %d of %d, above that %v; %s", l.Partition, l.Settled, ends[l.Partition], l.Ranges, w.tasks())
		}
	}
	return nil
}

// tasks says what each task does, for messages.
func (w *world) tasks() string {
	var lines []string
	job := w.job()
	for _, s := range w.fe.registry.Tasks(job.Id) {
		lines = append(lines, fmt.Sprintf("task %d epoch %d: %s held %d committed %d %s",
			s.Task.TaskId, s.Task.Epoch, s.Phase, s.HeldRecords, s.CommittedTxns, s.Trouble))
	}
	return fmt.Sprintf("job %v %q: ", job.State, job.Reason) + strings.Join(lines, "; ")
}

// rowsets are the visible ones.
func (w *world) rowsets() (rowsets []*raftlogv1.TableRowset) {
	w.fe.store.View(func(st *state.State) { rowsets = st.Rowsets(w.job().TableId) })
	return rowsets
}

// check holds the world to its promises, once everything is settled.
func (w *world) check() {
	w.t.Helper()
	w.checkRows()
	w.checkLedger()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.violation != "" {
		w.t.Error(w.violation)
	}
}

// checkRows: every id is in the visible rowsets exactly once, but for those that must
// be error rows, or are not selected.
func (w *world) checkRows() {
	w.t.Helper()
	times := make([]int, w.produced)
	for _, r := range w.rowsets() {
		ids, err := w.warehouse.ids(r.Rowset.Path)
		if err != nil || int64(len(ids)) != r.Rowset.Rows {
			w.t.Fatalf("rowset %s has %d rows, %v; want %d", r.Rowset.Path, len(ids), err, r.Rowset.Rows)
		}
		for _, id := range ids {
			times[id]++
		}
	}
	for id, n := range times {
		want := 1
		if w.poison[int64(id)] {
			want = 0
		}
		if n != want {
			w.t.Fatalf("id %d is in the table %d times, want %d", id, n, want)
		}
	}
}

// checkLedger: nothing is open, what is settled adds up, and it is what the
// rowsets say and the job counts.
func (w *world) checkLedger() {
	w.t.Helper()
	named := map[ledger.Key]offsets.Set{}
	for _, r := range w.rowsets() {
		for _, p := range r.Partitions {
			key, _ := ledger.KeyOf(p.TopicId, p.Partition)
			for _, e := range p.Loaded {
				loaded := offsets.Of(offsets.Range{First: e.First, Last: e.Last})
				if twice := named[key].Intersect(loaded); len(twice) > 0 {
					w.t.Errorf("offsets %v of partition %d are in two rowsets", twice, p.Partition)
				}
				named[key] = named[key].Union(loaded)
			}
		}
	}
	var loaded, inRowsets int64
	for _, l := range w.ledgers() {
		if len(l.Ranges) > 0 || l.Settled-l.Start != l.Loaded+l.Void+l.Expired {
			w.t.Errorf("the ledger of partition %d does not add up: %+v", l.Partition, l)
		}
		loaded += l.Loaded
		inRowsets += named[l.Key].Count()
	}
	if alone := loaded - inRowsets; alone < 0 || alone > int64(len(w.poison)) {
		w.t.Errorf("%d offsets are loaded, rowsets name %v", loaded, named)
	}
	rows, bad := w.job().Counters.GetLoadedRows(), w.job().Counters.GetErrorRows()+w.job().Counters.GetUnselectedRows()
	if rows+bad != loaded || loaded != w.produced || bad != int64(len(w.poison)) {
		w.t.Errorf("%d records were produced, %d offsets loaded, %d rows and %d that are none counted; want %d", w.produced, loaded, rows, bad, len(w.poison))
	}
}

// watch sees every share request on its way into the broker.
func (w *world) watch() kfake.Fault {
	return kfake.Fault{Keys: []kmsg.Key{kmsg.ShareFetch, kmsg.ShareAcknowledge}, Count: -1, When: func(req kmsg.Request) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch req := req.(type) {
		case *kmsg.ShareFetchRequest:
			for _, t := range req.Topics {
				for _, p := range t.Partitions {
					for _, b := range p.AcknowledgementBatches {
						w.acknowledged(ledger.Key{TopicID: t.TopicID, Partition: p.Partition}, ack(b))
					}
				}
			}
		case *kmsg.ShareAcknowledgeRequest:
			for _, t := range req.Topics {
				for _, p := range t.Partitions {
					for _, b := range p.AcknowledgementBatches {
						w.acknowledged(ledger.Key{TopicID: t.TopicID, Partition: p.Partition}, ack(b))
					}
				}
			}
		}
		return false
	}}
}

// An ack is a batch of acknowledgements.
type ack struct {
	FirstOffset      int64
	LastOffset       int64
	AcknowledgeTypes []int8
	UnknownTags      kmsg.Tags
}

// acknowledged checks that what is accepted is settled. The lock is held.
func (w *world) acknowledged(key ledger.Key, a ack) {
	if a.AcknowledgeTypes[0] != int8(source.Accept) || w.violation != "" {
		return
	}
	var settled offsets.Set
	w.current.store.View(func(st *state.State) {
		for _, job := range st.Jobs() {
			for _, l := range st.Ledgers(job.Id) {
				if l.Key == key {
					settled = l.Ranges.Union(offsets.Of(offsets.Range{First: 0, Last: l.Settled - 1}))
				}
			}
		}
	})
	if early := offsets.Of(offsets.Range{First: a.FirstOffset, Last: a.LastOffset}).Subtract(settled); len(early) > 0 {
		w.violation = fmt.Sprintf("offsets %v of partition %d were accepted before they were settled", early, key.Partition)
	}
}
