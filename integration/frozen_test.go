package integration

import (
	"syscall"
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestFrozenBackend: what a backend that is stopped had is loaded by another one.
// When it wakes up it is fenced, and takes part again: it loads alone once the
// other has gone.
func TestFrozenBackend(t *testing.T) {
	inBothModes(t, func(t *testing.T, mode string) {
		broker := testkafka.Shared(t)
		fe := cluster.Start(t, "fe", "--bootstrap")
		frozen := cluster.Start(t, "be", "--fe", fe.Ready.RPC)
		other := cluster.Start(t, "be", "--fe", fe.Ready.RPC)
		l := setUp(t, fe.DB(), broker, options{partitions: 4, properties: map[string]string{
			"load_mode": mode, "format": "json", "desired_concurrent_number": "4", "max_batch_interval": "5"}})
		client := l.client()
		next := 0
		produce := func() {
			for partition := range int32(4) {
				l.produce(client, partition, row(next, partition), row(next+1, partition))
				next += 2
			}
		}
		produce()
		l.waitRows(int64(next))
		frozen.Signal(syscall.SIGSTOP)
		defer frozen.Signal(syscall.SIGCONT)
		produce()
		l.waitRows(int64(next))
		frozen.Signal(syscall.SIGCONT)
		produce()
		l.waitRows(int64(next))
		other.Stop()
		produce()
		l.waitRows(int64(next))
		l.checkIDs(int64(next))
		l.checkLedger()
	})
}
