package integration

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestLargeMessages: messages of 16 MiB are loaded whole by eight tasks at once,
// between small ones, and memory stays bounded: what the tasks may hold, not
// what there is to load.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	const (
		large    = 48
		size     = 16<<20 - 1000
		memoryMB = 4096 // the race detector multiplies what is used
	)
	broker := testkafka.Start(t, testkafka.Set("message.max.bytes", strconv.Itoa(20<<20)), testkafka.Set("replica.fetch.max.bytes", strconv.Itoa(20<<20)), testkafka.Heap("1g"))
	fe := cluster.Start(t, "fe", "--bootstrap")
	be := cluster.Start(t, "be", "--fe", fe.Ready.RPC, "--mem-limit", "1G")
	l := prepare(t, fe.DB(), broker, options{partitions: 4, table: "(id BIGINT, body STRING)"})
	client := l.client(kgo.ProducerBatchMaxBytes(20<<20), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.MaxBufferedRecords(4))
	body := strings.Repeat("x", size)
	for id := range large {
		partition := int32(id % 4)
		l.produce(client, partition, fmt.Sprintf(`{"id":%d,"body":"%s"}`, 2*id, body), fmt.Sprintf(`{"id":%d,"body":"small"}`, 2*id+1))
	}
	l.create(options{properties: map[string]string{"format": "json", "desired_concurrent_number": "8"}})
	l.waitRows(2 * large)
	l.checkIDs(2 * large)
	lines := query(t, l.db, "SELECT count(*) AS n FROM "+l.table+fmt.Sprintf(" WHERE char_length(body) = %d", size))
	if lines[0]["n"] != strconv.Itoa(large) {
		t.Errorf("%s large messages came whole, want %d", lines[0]["n"], large)
	}
	if peak := peakMB(t, be.PID()); peak > memoryMB {
		t.Errorf("the backend used %d MB at its peak, more than %d", peak, memoryMB)
	} else {
		t.Logf("the backend used %d MB at its peak, for %d MB of messages", peak, large*size>>20)
	}
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakMB is the most memory that a process has had resident, in MiB.
func peakMB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	match := peakLine.FindSubmatch(status)
	if match == nil {
		t.Fatalf("no VmHWM in %s", status)
	}
	kb, err := strconv.Atoi(string(match[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kb >> 10
}
