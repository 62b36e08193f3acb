package integration

import (
	"fmt"
	"strings"
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestMoreJobsThanSlots: 17 jobs in turn of both modes load on the 16 slots of one
// backend. What has nothing to load leaves its slot to others.
func TestMoreJobsThanSlots(t *testing.T) {
	t.Parallel()
	const jobs, rows = 17, 100
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	first := prepare(t, shoal.DB(), broker, options{partitions: 2})
	first.produceMany(rows, 2, func(i int) []byte { return []byte(row(i, int32(i%2))) })
	var loads []*load
	for i := range jobs {
		l := *first
		l.table = fmt.Sprintf("%s%d", first.table, i)
		l.exec("CREATE TABLE " + l.table + " (id BIGINT, part INT, name VARCHAR(64)) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1")
		l.create(options{properties: map[string]string{"load_mode": []string{"classic", "share_group"}[i%2], "format": "json", "max_batch_interval": "1"}})
		loads = append(loads, &l)
	}
	for _, l := range loads {
		l.waitRows(rows)
		l.checkIDs(rows)
	}
	first.produceMany(rows, 2, func(i int) []byte { return []byte(row(rows+i, int32(i%2))) })
	for _, l := range loads {
		l.waitRows(2 * rows)
		l.checkIDs(2 * rows)
		l.waitSettled(2 * rows)
		l.waitState("RUNNING")
	}
}

// TestTasksFollowWork: a job that has nothing to do for a while has one task left,
// which has no record delivered again, and loads what comes.
func TestTasksFollowWork(t *testing.T) {
	t.Parallel()
	const rows = 1000
	broker := testkafka.Shared(t)
	shoal := cluster.Start(t, "standalone")
	l := setUp(t, shoal.DB(), broker, options{partitions: 3, properties: map[string]string{"format": "json"}})
	tasks := func(want string) {
		t.Helper()
		cluster.Eventually(t, limit, func() error {
			if status := l.status(); status["CurrentTaskNum"] != want {
				return fmt.Errorf("%s tasks, want %s: %s", status["CurrentTaskNum"], want, status["OtherMsg"])
			}
			return nil
		})
	}
	tasks("6")
	l.produceMany(rows, 3, func(i int) []byte { return []byte(row(i, int32(i%3))) })
	l.waitRows(rows)
	tasks("1")
	l.produceMany(rows, 3, func(i int) []byte { return []byte(row(rows+i, int32(i%3))) })
	l.waitRows(2 * rows)
	l.checkIDs(2 * rows)
	l.waitSettled(2 * rows)
	l.checkLedger()
	if properties := l.status()["JobProperties"]; !strings.Contains(properties, `"desired_concurrent_number":"6"`) || !strings.Contains(properties, `"current_concurrent_number":"1"`) {
		t.Errorf("properties %s", properties)
	}
}
