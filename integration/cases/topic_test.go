package cases

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/internal/testkafka"
)

// ids are messages with the numbers from first to last, and rows what they
// become in a table of one column.
func ids(first, last int) (messages []*kgo.Record, rows [][]string) {
	for id := first; id <= last; id++ {
		messages = append(messages, &kgo.Record{Value: []byte(fmt.Sprint(id))})
		rows = append(rows, []string{fmt.Sprint(id)})
	}
	return messages, rows
}

// to are messages to a partition.
func to(partition int32, messages []*kgo.Record) []*kgo.Record {
	for _, m := range messages {
		m.Partition = partition
	}
	return messages
}

// admin administers the job's broker.
func (j *job) admin() *kadm.Client { return kadm.NewClient(j.client) }

// must fails the test with an error.
func (j *job) must(err error) {
	j.t.Helper()
	if err != nil {
		j.t.Fatal(err)
	}
}

// New partitions begin at their beginning, whatever the default is: what was
// written before anybody noticed them is loaded too.
func TestC33(t *testing.T) {
	both(t, func(t *testing.T, mode string) {
		j := prepare(t, connect(t), testkafka.Shared(t), mode, load{columns: "(id INT)", source: map[string]string{"property.kafka_default_offsets": "OFFSET_END"}})
		old, _ := ids(1, 10)
		j.produce(old...)
		j.create()
		j.waitState("RUNNING")
		began := time.Now()
		j.grow(3)
		first, rows := ids(100, 149)
		second, more := ids(150, 199)
		j.produce(append(to(1, first), to(2, second)...)...)
		j.settle(outcome{rows: append(rows, more...)}, 100, 0)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the new partitions were read after %v, want seconds", took)
		}
	})
}

// grow gives the topic more partitions, and waits until they can be written to.
func (j *job) grow(partitions int) {
	j.t.Helper()
	grown, err := j.admin().UpdatePartitions(j.t.Context(), partitions, j.topic)
	j.must(err)
	j.must(grown.Error())
	j.eventually(func() error {
		topics, err := j.admin().ListTopics(j.t.Context(), j.topic)
		if err == nil && len(topics[j.topic].Partitions) != partitions {
			err = fmt.Errorf("%d partitions", len(topics[j.topic].Partitions))
		}
		return err
	})
	j.client = j.newClient()
}

// deleteBelow makes the broker forget what is below an offset of partition 0.
func (j *job) deleteBelow(offset int64) {
	j.t.Helper()
	var offsets kadm.Offsets
	offsets.AddOffset(j.topic, 0, offset, -1)
	deleted, err := j.admin().DeleteRecords(j.t.Context(), offsets)
	j.must(err)
	j.must(deleted.Error())
}

// An offset that the log does not have is refused by name.
func TestC34Beyond(t *testing.T) {
	both(t, func(t *testing.T, mode string) {
		j := prepare(t, connect(t), testkafka.Shared(t), mode, load{columns: "(id INT)",
			source: map[string]string{"kafka_partitions": "0", "kafka_offsets": "100", "property.kafka_default_offsets": ""}})
		messages, _ := ids(1, 2)
		j.produce(messages...)
		if err := j.refused(); !strings.Contains(err.Message, "artition 0") || !strings.Contains(err.Message, "100") || !strings.Contains(err.Message, "0 to 2") && !strings.Contains(err.Message, "0..2") {
			t.Errorf("error %v, want one that names the partition, 100, and 0 to 2", err)
		}
	})
}

// Retention overtakes a job that is paused: in classic mode it is told what was
// lost, and goes on only if it may; a share group is moved on by the broker. In
// each case what was lost is counted.
func TestC34(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode, outOfRange string
	}{"pause": {classic, "pause"}, "skip": {classic, "skip"}, "share": {share, ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := prepare(t, connect(t), testkafka.Shared(t), tt.mode, load{columns: "(id INT)", properties: map[string]string{"out_of_range": tt.outOfRange}})
			before, first := ids(0, 9)
			j.produce(before...)
			j.create()
			j.settle(outcome{rows: first}, 10, 0)
			j.pause()
			after, _ := ids(10, 99)
			j.produce(after...)
			j.deleteBelow(50)
			j.exec("RESUME ROUTINE LOAD FOR j")
			if tt.outOfRange == "pause" {
				j.eventually(func() error {
					if reason := j.status()["ReasonOfStateChanged"]; !strings.Contains(reason, "lost 10..49 (40)") {
						return fmt.Errorf("job is %s: %s; want the reason to have lost 10..49 (40)", j.status()["State"], reason)
					}
					return nil
				})
				j.alterAndResume(map[string]string{"out_of_range": "skip"})
			}
			_, rest := ids(50, 99)
			j.settle(outcome{rows: append(first, rest...)}, 60, 0)
			if p := j.ledger()[0]; p["Expired"] != "40" {
				t.Errorf("ledger %v, want 40 expired", p)
			}
		})
	}
}

// Aborted transactions are left out, an open one holds back only what is
// behind it, and its end marker leaves no lag.
func TestC36(t *testing.T) {
	both(t, func(t *testing.T, mode string) {
		properties := map[string]string{}
		if mode == share { // what ends below an open transaction is looked at after two locks
			properties["share_record_lock_duration_ms"] = "1000"
		}
		j := prepare(t, connect(t), testkafka.Shared(t), mode, load{columns: "(id INT)", properties: properties})
		transact := func(name string, first, last int, end kgo.TransactionEndTry) *kgo.Client {
			client := j.newClient(kgo.TransactionalID(j.topic+name), kgo.TransactionTimeout(5*time.Minute))
			j.must(client.BeginTransaction())
			messages, _ := ids(first, last)
			j.must(client.ProduceSync(t.Context(), messages...).FirstErr())
			if name != "D" {
				j.must(client.EndTransaction(t.Context(), end))
			}
			return client
		}
		transact("A", 1, 3, kgo.TryCommit)
		transact("B", 10_000, 10_999, kgo.TryAbort)
		transact("C", 4, 5, kgo.TryCommit)
		open := transact("D", 6, 6, kgo.TryCommit)
		j.create()
		_, rows := ids(1, 5)
		j.waitCounters(counters{Loaded: 5})
		j.checkRows("", rows)
		const stable = 3 + 1 + 1000 + 1 + 2 + 1
		j.eventually(func() error {
			if p := j.ledger()[0]; p["Settled"] != fmt.Sprint(stable) || p["Void"] != "1003" {
				return fmt.Errorf("ledger %v, want all below %d settled, 1003 of them void", p, stable)
			}
			return nil
		})
		j.must(open.EndTransaction(t.Context(), kgo.TryCommit))
		j.settle(outcome{rows: append(rows, []string{"6"})}, 6, 0)
	})
}

// Batches of every codec are read, each alone and side by side.
func TestC38(t *testing.T) {
	both(t, func(t *testing.T, mode string) {
		codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
		j := prepare(t, connect(t), testkafka.Shared(t), mode, load{columns: "(id INT, s STRING)", partitions: len(codecs) + 1})
		var rows [][]string
		for i, codec := range codecs {
			client := j.newClient(kgo.ProducerBatchCompression(codec))
			for _, partition := range []int{i, len(codecs)} {
				var messages []*kgo.Record
				for range 100 {
					row := []string{fmt.Sprint(len(rows)), strings.Repeat("x", 100)}
					rows = append(rows, row)
					messages = append(messages, &kgo.Record{Partition: int32(partition), Value: []byte(strings.Join(row, ","))})
				}
				j.must(client.ProduceSync(t.Context(), messages...).FirstErr())
			}
		}
		j.create()
		j.settle(outcome{rows: rows}, len(rows), 0)
	})
}

// The job of a compacted topic: what was compacted away is void.
func TestCompacted(t *testing.T) {
	both(t, func(t *testing.T, mode string) {
		j := prepare(t, connect(t), testkafka.Shared(t), mode, load{columns: "(id INT)", topic: map[string]string{
			"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001", "segment.ms": "100", "max.compaction.lag.ms": "100", "delete.retention.ms": "0"}})
		const keys = 10
		for id := range 20 * keys {
			j.produce(&kgo.Record{Key: []byte(fmt.Sprint(id % keys)), Value: []byte(fmt.Sprint(id))})
		}
		var rows [][]string
		for _, record := range j.compacted(keys) {
			rows = append(rows, []string{string(record.Value)})
		}
		j.create()
		j.settle(outcome{rows: rows}, len(rows), 0)
		p := j.ledger()[0]
		if settled, err := strconv.Atoi(p["Settled"]); err != nil || settled < 20*keys || p["Loaded"] != strconv.Itoa(len(rows)) || p["Void"] != strconv.Itoa(settled-len(rows)) {
			t.Errorf("ledger %v: want %d loaded, and all else void", p, len(rows))
		}
	})
}

// compacted waits until one record of each of so many keys is left, and is what
// is left. A record now and then, of a key of its own, makes the broker roll its
// segment.
func (j *job) compacted(keys int) (left []*kgo.Record) {
	j.t.Helper()
	rolls := 0
	j.eventually(func() error {
		if left = j.everything(); len(left) == keys+rolls {
			return nil
		}
		j.produce(&kgo.Record{Key: fmt.Appendf(nil, "roll %d", rolls), Value: fmt.Appendf(nil, "%d", 1000+rolls)})
		rolls++
		return fmt.Errorf("%d records are left of %d keys", len(left), keys+rolls)
	})
	return left
}

// everything is all records of partition 0, as a plain consumer reads them.
func (j *job) everything() []*kgo.Record {
	j.t.Helper()
	ends, err := j.admin().ListEndOffsets(j.t.Context(), j.topic)
	j.must(err)
	end, _ := ends.Lookup(j.topic, 0)
	client := j.newClient(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{j.topic: {0: kgo.NewOffset().AtStart()}}))
	defer client.Close()
	var records []*kgo.Record
	for len(records) == 0 || records[len(records)-1].Offset < end.Offset-1 {
		fetches := client.PollFetches(j.t.Context())
		j.must(fetches.Err())
		records = slices.AppendSeq(records, fetches.RecordsAll())
	}
	return records
}

// A job whose topic is deleted says so. One that is made anew is another topic,
// and the job goes on from its beginning.
func TestTopicMadeAnew(t *testing.T) {
	both(t, func(t *testing.T, mode string) {
		j := prepare(t, connect(t), testkafka.Shared(t), mode, load{columns: "(id INT)"})
		before, rows := ids(1, 5)
		j.produce(before...)
		j.create()
		j.settle(outcome{rows: rows}, 5, 0)
		_, err := j.admin().DeleteTopics(t.Context(), j.topic)
		j.must(err)
		j.eventually(func() error {
			status := j.status()
			if told := status["OtherMsg"] + status["ReasonOfStateChanged"]; !strings.Contains(told, "is gone since") {
				return fmt.Errorf("job is %s and says %q, want it to say that the topic is gone", status["State"], told)
			}
			return nil
		})
		j.remakeTopic()
		after, more := ids(6, 8)
		j.produce(after...)
		j.waitCounters(counters{Loaded: 8})
		j.waitState("RUNNING")
		j.checkRows("", append(rows, more...))
		j.eventually(func() error {
			if lines := j.ledger(); len(lines) != 2 {
				return fmt.Errorf("%d ledgers, want one of each topic: %v", len(lines), lines)
			}
			return nil
		})
	})
}

// remakeTopic makes a topic of the name of the one that was deleted.
func (j *job) remakeTopic() {
	j.t.Helper()
	j.eventually(func() error {
		_, err := j.admin().CreateTopic(j.t.Context(), 1, 1, nil, j.topic)
		return err
	})
	j.client = j.newClient()
}
