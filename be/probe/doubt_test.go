package probe_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/internal/offsets"
)

// lying is a world whose broker answers every fetch with the given batches and
// a last stable offset of 4, and says where its local log starts.
func lying(t *testing.T, batches []byte, localStart int64) *world {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	w := newWorld(t, strings.Join(cluster.ListenAddrs(), ","), nil)
	cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		req := r.(*kmsg.FetchRequest)
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.HighWatermark, partition.LastStableOffset, partition.LogStartOffset = 4, 4, 0
		partition.RecordBatches = batches
		topic := kmsg.NewFetchResponseTopic()
		topic.TopicID = req.Topics[0].TopicID
		topic.Partitions = append(topic.Partitions, partition)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	cluster.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		req := r.(*kmsg.ListOffsetsRequest)
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		partition := kmsg.NewListOffsetsResponseTopicPartition()
		partition.Offset = localStart
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = req.Topics[0].Topic
		topic.Partitions = append(topic.Partitions, partition)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	return w
}

// The tail of a compacted log may be empty up to the last stable offset.
func TestEmptyTailIsVoid(t *testing.T) {
	lying(t, nil, 0).expect("1-3", "none", "none", offsets.Range{First: 1, Last: 9})
}

// What may lie in remote storage is not void for being slow.
func TestSlowRemoteStorageProvesNothing(t *testing.T) {
	undecided(t, lying(t, nil, 3), "remote storage")
}

// A batch of a kind that is not known is not passed over.
func TestDamageProvesNothing(t *testing.T) {
	batch := make([]byte, 64)
	batch[11] = 52  // length behind the length field
	batch[16] = 200 // magic
	undecided(t, lying(t, batch, 0), "damaged")
	undecided(t, lying(t, batch[:40], 0), "cut off")
}

// A batch that is damaged, or of an unknown codec, is held: whatever is in it, it
// is not known to be void.
func TestDamageIsHeld(t *testing.T) {
	batch := make([]byte, 64)
	batch[11], batch[16], batch[26] = 52, 2, 5 // of offsets 0-5, and with a wrong checksum
	lying(t, batch, 0).expect("none", "none", "1-3", offsets.Range{First: 1, Last: 3})
}

func undecided(t *testing.T, w *world, why string) {
	t.Helper()
	got, err := w.probe(offsets.Range{First: 0, Last: 9})
	if err == nil || !strings.Contains(err.Error(), why) || len(got.Void)+len(got.Expired)+len(got.Held) > 0 {
		t.Errorf("probe = %+v, %v; want nothing decided, and %q", got, err, why)
	}
}
