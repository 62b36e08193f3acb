package virtual

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestPartitionsAdded: what was written to new partitions before anybody
// noticed them is loaded, from their beginning.
func TestPartitionsAdded(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
		w.createJob(6)
		w.produce(20)
		w.settled(10 * time.Second)
		for n := int32(partitions); n < partitions+2; n++ {
			if resp, err := kadm.NewClient(w.producer).CreatePartitions(w.t.Context(), 1, topic); err != nil || resp.Error() != nil {
				w.t.Fatal(err, resp.Error())
			}
			fresh := w.newProducer()
			var records []*kgo.Record
			for range 100 {
				records = append(records, &kgo.Record{Partition: n, Value: fmt.Appendf(nil, `{"id":%d}`, w.produced)})
				w.produced++
			}
			if err := fresh.ProduceSync(w.t.Context(), records...).FirstErr(); err != nil {
				w.t.Fatal(err)
			}
			fresh.Close()
			w.settled(30 * time.Second)
		}
	})
}

// TestChangeMode: a job goes over to the other mode and back in the middle of
// the load, and neither loses nor repeats anything.
func TestChangeMode(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
		w.createJob(6)
		stop := w.producing(20)
		for range 3 {
			for _, mode := range []string{"classic", "share_group"} {
				time.Sleep(5 * time.Second)
				w.sql("PAUSE ROUTINE LOAD FOR d.j")
				w.sql(fmt.Sprintf(`ALTER ROUTINE LOAD FOR d.j PROPERTIES("load_mode"="%s")`, mode))
				w.eventually(time.Minute, func() error { return w.trySQL("RESUME ROUTINE LOAD FOR d.j") })
			}
		}
		stop()
		w.settled(lock)
	})
}
