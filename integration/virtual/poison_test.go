package virtual

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/source"
	"shoal/fe/state/jobs"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// holds tells whether some parts have a record with one of some ids that would be
// decoded.
func holds(parts []source.Partition, ids map[int64]bool) bool {
	for _, p := range parts {
		for _, r := range p.Records {
			var row struct{ ID int64 }
			if json.Unmarshal(r.Value, &row) == nil && ids[row.ID] && p.Poison[r.Offset] == "" {
				return true
			}
		}
	}
	return false
}

// TestPoison: three records end each backend that decodes them. Their processes
// are started again and again, and soon there is an end of it: the three are
// error rows, and all others are in the table.
func TestPoison(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
		w.poison = map[int64]bool{31: true, 100: true, 101: true}
		deaths := make(chan *backend)
		w.faults.set(func(f *faults) {
			f.read = func(ctx context.Context, b *backend, parts []source.Partition) {
				if !holds(parts, w.poison) {
					return
				}
				select { // a process that is about to die goes no further
				case deaths <- b:
				case <-ctx.Done():
				}
				<-ctx.Done()
			}
		})
		w.createJob(6)
		w.produce(50)
		died, began := 0, time.Now()
		for w.settledOffsets() < w.logEnd() {
			select {
			case b := <-deaths:
				for n := range w.backends {
					if w.backends[n] == b {
						died++
						w.kill(n)
						time.Sleep(2 * time.Second)
						w.backends[n] = w.startBackend(n)
					}
				}
			case <-time.After(100 * time.Millisecond):
			}
			if died > 100 || time.Since(began) > time.Hour {
				w.t.Fatalf("backends died %d times; %s", died, w.tasks())
			}
		}
		w.t.Logf("backends died %d times", died)
		w.produce(50)
		w.settled(2 * lock)
	})
}

// TestTooSlowForLock: a record takes longer than a share group's lock allows, each
// time. The group gives it up, and repair, which has no lock, loads it.
func TestTooSlowForLock(t *testing.T) {
	inWorld(t, 2, inMemory, func(w *world) {
		slow := map[int64]bool{31: true}
		w.faults.set(func(f *faults) {
			f.read = func(ctx context.Context, _ *backend, parts []source.Partition) {
				if holds(parts, slow) {
					pass(ctx, lock) // the write is told by ctx as well
				}
			}
		})
		w.createJob(6)
		w.produce(50)
		w.settled(time.Hour)
		if job := w.job(); job.State != raftlogv1.JobState_JOB_STATE_RUNNING || job.Repaired == 0 {
			w.t.Errorf("the job is %v, %d records repaired", job.State, job.Repaired)
		}
	})
}

// TestNeverDone: a record is never done. Where no lock ends that, the task does,
// and makes it an error row.
func TestNeverDone(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
		w.poison = map[int64]bool{31: true}
		w.faults.set(func(f *faults) {
			f.read = func(ctx context.Context, _ *backend, parts []source.Partition) {
				if holds(parts, w.poison) {
					<-ctx.Done()
				}
			}
		})
		w.properties += `, "max_batch_interval"="5"` // and with it the task's time-out of a minute
		w.createJob(2)
		w.produce(15)
		w.settled(time.Hour)
	})
}

// TestUnreadable: a batch cannot be decompressed. Soon a task tells so; in the
// end, which in a share group is once the deliveries are used up, the job is
// paused with its offsets, and all else is loaded.
func TestUnreadable(t *testing.T) {
	inBothModes(t, 2, inMemory, func(w *world) {
		w.createJob(6)
		w.produce(20)
		w.produceDamaged(1)
		w.eventually(30*time.Second, func() error {
			if told := w.tasks(); !strings.Contains(told, "gzip") {
				return fmt.Errorf("nobody tells why: %s", told)
			}
			return nil
		})
		w.eventually(time.Hour, func() error {
			const why = "partition 1: the batch with offsets 20-22 could not be read"
			if job := w.job(); job.State != raftlogv1.JobState_JOB_STATE_PAUSED || !strings.Contains(job.Reason, why) {
				return fmt.Errorf("the job is %v, %q: %s", job.State, job.Reason, w.tasks())
			}
			return nil
		})
	})
}

// produceDamaged writes a batch of three records to a partition that says to be
// compressed and is not.
func (w *world) produceDamaged(partition int32) {
	w.t.Helper()
	body := []byte("this is no gzip")
	b := kmsg.RecordBatch{Length: int32(49 + len(body)), Magic: 2, Attributes: 1, LastOffsetDelta: 2, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
		NumRecords: 3, Records: body}
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = partition, raw
	to := kmsg.NewProduceRequestTopic()
	to.Topic, to.Partitions = topic, []kmsg.ProduceRequestTopicPartition{part}
	info := w.broker.TopicInfo(topic)
	to.TopicID = info.TopicID
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis, req.Topics = -1, 10_000, []kmsg.ProduceRequestTopic{to}
	resp, err := w.producer.Broker(int(w.broker.LeaderFor(topic, partition))).Request(w.t.Context(), req)
	if err == nil {
		err = kerr.ErrorForCode(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestLastDeliveries: records are at their last delivery that WHERE does not
// select, or that are more bad rows than the job may have. Repair reads them
// again, the job is paused for the bad ones, and after RESUME each of them is
// counted, once.
func TestLastDeliveries(t *testing.T) {
	inWorld(t, 2, inMemory, func(w *world) {
		full := errors.New("no space left")
		w.faults.set(func(f *faults) { f.write = func(*backend) (time.Duration, error) { return 0, full } })
		w.properties = `, "max_error_number"="2"`
		w.createJob(6)
		w.produce(20)
		w.poison = map[int64]bool{}
		for i := range 12 {
			kind := []string{"bad", "skip"}[i%2]
			record := &kgo.Record{Partition: int32(i % partitions), Value: fmt.Appendf(nil, `{"id":%d,"%s":true}`, w.produced, kind)}
			if err := w.producer.ProduceSync(w.t.Context(), record).FirstErr(); err != nil {
				w.t.Fatal(err)
			}
			w.poison[w.produced] = true
			w.produced++
		}
		w.eventually(time.Hour, func() error {
			if jobs.RepairTask(w.job()) == nil {
				return fmt.Errorf("nothing is repaired: %s", w.tasks())
			}
			return nil
		})
		w.faults.set(func(f *faults) { f.write = nil })
		w.eventually(time.Hour, func() error {
			if job := w.job(); job.State != raftlogv1.JobState_JOB_STATE_PAUSED || job.ReasonCode != jobs.ReasonTooManyErrors {
				return fmt.Errorf("the job is %v: %s", job.State, w.tasks())
			}
			return nil
		})
		w.sql(`ALTER ROUTINE LOAD FOR d.j PROPERTIES("max_error_number"="1000")`)
		w.eventually(time.Minute, func() error { return w.trySQL("RESUME ROUTINE LOAD FOR d.j") })
		w.settled(10 * time.Minute)
		if job := w.job(); job.State != raftlogv1.JobState_JOB_STATE_RUNNING || job.Counters.GetErrorRows() != 6 || job.Counters.GetUnselectedRows() != 6 {
			w.t.Errorf("the job is %v, counted %v", job.State, job.Counters)
		}
	})
}
