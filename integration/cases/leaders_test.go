package cases

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/internal/testkafka"
)

// Three brokers, six partitions, steady writes: a leader moves, a broker stops
// and starts, and the right to read is taken away for a while. Every record
// is loaded once, nothing stands still for long, and no storm of requests goes
// to the broker that refuses them.
func TestC48(t *testing.T) {
	t.Parallel()
	security, secure := testkafka.Secure(t)
	broker := testkafka.Start(t, testkafka.Nodes(3), secure)
	permit(t, broker, kadm.NewACLs().Allow("User:"+testkafka.User).AllowHosts().Topics("*").Groups("*").Clusters().
		ResourcePatternType(kmsg.ACLResourcePatternTypeLiteral).Operations(kadm.OpAll))
	var jobs []*job
	db := connect(t)
	for _, mode := range []string{classic, share} {
		j := prepareSecure(t, db, broker, mode, security, map[string]string{
			"kafka_broker_list": broker.Listener(t, "SASL_PLAINTEXT"), "property.security.protocol": "sasl_plaintext",
			"property.sasl.mechanism": "SCRAM-SHA-512", "property.sasl.username": testkafka.User, "property.sasl.password": testkafka.Password})
		j.createIn(6)
		jobs = append(jobs, j)
	}
	const written = 10_000
	writing := write(jobs, written)
	all := func(do func(j *job)) {
		for _, j := range jobs {
			do(j)
		}
	}
	all((*job).waitSome)
	all((*job).moveLeader)
	all((*job).waitSome)
	broker.Kill(t, 3)
	all((*job).waitSome)
	broker.Restart(t, 3)
	all((*job).waitSome)
	takeReadRight(t, broker, jobs)
	writing.Wait()
	all(func(j *job) {
		j.settleIDs(written)
	})
}

// createIn makes the job on a topic of so many partitions, copied to all
// brokers.
func (j *job) createIn(partitions int) {
	j.t.Helper()
	j.topic = j.broker.CreateTopic(j.t, partitions, map[string]string{"min.insync.replicas": "1"})
	j.partitions = partitions
	j.client = j.newClient()
	j.create()
	j.waitState("RUNNING")
}

// settleIDs waits until the numbers below n are in the table, each once, and all
// is done with.
func (j *job) settleIDs(n int) {
	j.t.Helper()
	j.waitCounters(counters{Loaded: int64(n)})
	j.checkRows("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM t", [][]string{{fmt.Sprint(n), fmt.Sprint(n), "0", fmt.Sprint(n - 1)}})
	j.waitNoLag()
	j.waitLedger()
}

// write writes n records to each job's topic, some each moment.
func write(jobs []*job, n int) *sync.WaitGroup {
	var writing sync.WaitGroup
	for _, j := range jobs {
		writing.Go(func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for id := 0; id < n; {
				var records []*kgo.Record
				for range 10 {
					records = append(records, &kgo.Record{Partition: int32(id % j.partitions), Value: []byte(fmt.Sprint(id))})
					id++
				}
				if err := j.client.ProduceSync(j.t.Context(), records...).FirstErr(); err != nil {
					j.t.Error(err)
					return
				}
				<-tick.C
			}
		})
	}
	return &writing
}

// waitSome waits until more is loaded of every partition.
func (j *job) waitSome() {
	j.t.Helper()
	began := time.Now()
	before := make(map[string]string)
	for _, p := range j.ledger() {
		before[p["Partition"]] = p["Loaded"]
	}
	j.eventually(func() error {
		var still []string
		for _, p := range j.ledger() {
			if p["Loaded"] == before[p["Partition"]] {
				still = append(still, p["Partition"])
			}
		}
		if len(still) > 0 || len(before) == 0 {
			return fmt.Errorf("partitions %v stand still; %s", still, j.status()["OtherMsg"])
		}
		return nil
	})
	j.t.Logf("%s: all partitions moved on within %v", j.mode, time.Since(began).Round(100*time.Millisecond))
}

// moveLeader makes another broker partition 0's leader.
func (j *job) moveLeader() {
	j.t.Helper()
	topics, err := j.admin().ListTopics(j.t.Context(), j.topic)
	j.must(err)
	partition := topics[j.topic].Partitions[0]
	var assignment kadm.AlterPartitionAssignmentsReq
	replicas := append(partition.Replicas[1:], partition.Replicas[0])
	assignment.Assign(j.topic, 0, replicas)
	answers, err := j.admin().AlterPartitionAssignments(j.t.Context(), assignment)
	j.must(err)
	j.must(answers.Error())
	var elect kadm.TopicsSet
	elect.Add(j.topic, 0)
	j.eventually(func() error {
		results, err := j.admin().ElectLeaders(j.t.Context(), kadm.ElectPreferredReplica, elect)
		if err == nil {
			topics, err = j.admin().ListTopics(j.t.Context(), j.topic)
		}
		if err == nil && topics[j.topic].Partitions[0].Leader != replicas[0] {
			err = fmt.Errorf("broker %d leads, not %d: %v", topics[j.topic].Partitions[0].Leader, replicas[0], results)
		}
		return err
	})
}

// takeReadRight forbids the jobs' user to read for twenty seconds: the jobs
// say so, and ask now and then.
func takeReadRight(t *testing.T, broker *testkafka.Broker, jobs []*job) {
	t.Helper()
	admin := operator(t, broker)
	denied := kadm.NewACLs().Deny("User:" + testkafka.User).DenyHosts().Topics("*").Groups("*").
		ResourcePatternType(kmsg.ACLResourcePatternTypeLiteral).Operations(kadm.OpRead)
	permit(t, broker, denied)
	for _, j := range jobs {
		j.eventually(func() error {
			status := j.status()
			if told := status["OtherMsg"] + status["ReasonOfStateChanged"]; !strings.Contains(strings.ToLower(told), "authoriz") {
				return fmt.Errorf("%s job is %s and says %q, want it to tell of the right", j.mode, status["State"], told)
			}
			return nil
		})
	}
	before, began := broker.Denials(t), time.Now()
	time.Sleep(15 * time.Second)
	if rate := float64(broker.Denials(t)-before) / time.Since(began).Seconds(); rate > 50 {
		t.Errorf("the broker refused %.0f requests a second, want a few", rate)
	} else {
		t.Logf("the broker refused %.1f requests a second", rate)
	}
	results, err := admin.DeleteACLs(t.Context(), denied)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

// The broker, which is the only one and the coordinator, restarts in the middle
// of records.
func TestC53BrokerRestarted(t *testing.T) {
	t.Parallel()
	broker := testkafka.Start(t)
	var jobs []*job
	for _, mode := range []string{classic, share} {
		j := prepare(t, connect(t), broker, mode, load{columns: "(id INT)"})
		j.createIn(2)
		jobs = append(jobs, j)
	}
	const written = 3000
	writing := write(jobs, written)
	for _, j := range jobs {
		j.waitSome()
	}
	broker.Restart(t, 1)
	writing.Wait()
	for _, j := range jobs {
		j.settleIDs(written)
	}
}
