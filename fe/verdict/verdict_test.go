package verdict_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"shoal/fe/backend"
	"shoal/fe/kafka"
	"shoal/fe/schedule"
	"shoal/fe/state/ledger"
	"shoal/fe/verdict"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

var (
	now  = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	id   = kafka.TopicID{1}
	keyA = ledger.Key{TopicID: id}
)

// well is a job with two tasks on one partition that polls, has lag 100 and
// settled offsets one second ago. Cases change it.
func well() verdict.Input {
	in := verdict.Input{
		Now: now,
		Job: &raftlogv1.Job{
			Id: 1, State: raftlogv1.JobState_JOB_STATE_RUNNING, Started: true,
			Load:  &typesv1.RoutineLoad{Topic: "orders", MaxErrorNumber: 10},
			Tasks: []*raftlogv1.Task{{Id: 1, Epoch: 5, BackendId: 9, AssignedMs: now.UnixMilli() - 60_000}, {Id: 2, Epoch: 6, BackendId: 9}},
		},
		Ledgers:  []ledger.View{{Key: keyA, Settled: 50}},
		Backends: []backend.Status{{ID: 9, Alive: true, Slots: 16}},
		View: &kafka.View{
			Topic:      kafka.Topic{Name: "orders", ID: id, Partitions: []int32{0}},
			Partitions: map[int32]kafka.Partition{0: {Log: kafka.Log{End: 150, StableEnd: 150}, Position: kafka.Position{Start: 50, Lag: 100}}},
		},
		History: verdict.History{RowsPerSecond: 1234, Moved: map[ledger.Key]time.Time{keyA: now.Add(-time.Second)}},
	}
	for _, t := range in.Job.Tasks {
		in.Tasks = append(in.Tasks, &backendv1.TaskStatus{
			Task: &backendv1.TaskRef{TaskId: t.Id, Epoch: t.Epoch}, Phase: backendv1.TaskStatus_PHASE_POLLING, LastRecordsMs: now.UnixMilli() - 90_000,
		})
	}
	return in
}

// still makes nothing move for so long.
func still(in *verdict.Input, d time.Duration) {
	in.History.Moved[keyA] = now.Add(-d)
	in.History.RowsPerSecond = 0
}

func partition(in *verdict.Input, p kafka.Partition) { in.View.Partitions[0] = p }

func TestOf(t *testing.T) {
	jobState := func(s raftlogv1.JobState, code int32, reason string) func(*verdict.Input) {
		return func(in *verdict.Input) {
			in.Job.State, in.Job.ReasonCode, in.Job.Reason = s, code, reason
		}
	}
	classic := func(in *verdict.Input) { in.Job.Load.Mode = typesv1.RoutineLoad_MODE_CLASSIC }
	untasked := func(in *verdict.Input) { in.Job.Tasks, in.Tasks = nil, nil }
	tests := []struct {
		name     string
		change   func(*verdict.Input)
		kind     verdict.Kind
		severity verdict.Severity
		text     string // a part of it
	}{
		{"well", func(*verdict.Input) {}, verdict.Loading, verdict.OK, "Loading 1234 rows/s with 2 tasks; lag 100."},
		{"dead letters wait", func(in *verdict.Input) {
			in.Job.Load.DeadLetterTopic, in.Letters = "dead", verdict.Letters{Rowsets: 3, Trouble: "no broker answers"}
		}, verdict.Loading, verdict.OK, "lag 100. Dead letters (error rowsets: 3) wait for topic 'dead', which is tried again: no broker answers."},
		{"stopped with dead letters", func(in *verdict.Input) {
			in.Job.State, in.Letters = raftlogv1.JobState_JOB_STATE_STOPPED, verdict.Letters{Rowsets: 1, Trouble: "gone"}
		}, verdict.Stopped, verdict.Off, " Dead letters (error rowsets: 1) wait"},
		{"stopped", jobState(raftlogv1.JobState_JOB_STATE_STOPPED, 0, ""), verdict.Stopped, verdict.Off, "Stopped at"},
		{"cancelled", jobState(raftlogv1.JobState_JOB_STATE_CANCELLED, 6, "table d.t is gone"), verdict.Cancelled, verdict.Bad, "table d.t is gone"},
		{"paused by a user", jobState(raftlogv1.JobState_JOB_STATE_PAUSED, 100, "User root pauses routine load job"), verdict.PausedByUser, verdict.Off, "User root"},
		{"paused by errors", jobState(raftlogv1.JobState_JOB_STATE_PAUSED, 102, "11 error rows"), verdict.PausedByError, verdict.Bad, "11 error rows; RESUME reads the same records again."},
		{"paused by a topic", jobState(raftlogv1.JobState_JOB_STATE_PAUSED, 2, "the log was truncated."), verdict.PausedByError, verdict.Bad, "truncated."},
		{"being set up", func(in *verdict.Input) { in.Job.Started = false }, verdict.SettingUp, verdict.Busy, "being set up"},
		{"cannot be set up", func(in *verdict.Input) { in.Job.Started, in.SetupError = false, "no broker answers" }, verdict.SettingUp, verdict.Bad, "no broker answers"},
		{"no backend", func(in *verdict.Input) { untasked(in); in.Backends = nil }, verdict.NoBackend, verdict.Bad, "No backend is alive, of 0 known"},
		{"dead backend", func(in *verdict.Input) { untasked(in); in.Backends[0].Alive = false }, verdict.NoBackend, verdict.Bad, "of 1 known"},
		{"new leader", func(in *verdict.Input) {
			untasked(in)
			in.Backends[0].Alive, in.Backends[0].Unheard = false, true
		}, verdict.NoBackend, verdict.Busy, "hear from 1 backend."},
		{"no slot", func(in *verdict.Input) { untasked(in); in.SlotsTaken = 16 }, verdict.NoSlot, verdict.Warn, "No slot is free: all 16 of 1 backend are taken. Jobs take turns of 30s; with another backend, or more --slots, all load at a time."},
		{"readers were lost", func(in *verdict.Input) {
			classic(in)
			untasked(in)
			in.Job.Tasks = []*raftlogv1.Task{{Id: 5, Repair: []*typesv1.PartitionRanges{{Ranges: []*typesv1.OffsetRange{{First: 3, Last: 9}}}}}}
		}, verdict.Isolating, verdict.Warn, "ever smaller parts. Backends died while they read 7 offsets, of which one may have ended them: a repair task reads them."},
		{"what lost readers had is left", func(in *verdict.Input) {
			classic(in)
			untasked(in)
			in.Job.Suspects = []*typesv1.PartitionRanges{{}}
		}, verdict.Isolating, verdict.Warn, "its tasks wait"},
		{"no slot, and nothing to load", func(in *verdict.Input) {
			untasked(in)
			in.SlotsTaken = 16
			partition(in, kafka.Partition{Log: kafka.Log{End: 50, StableEnd: 50}, Position: kafka.Position{Start: 50}})
		}, verdict.Idle, verdict.OK, "All loaded; its slot was left to another job"},
		{"nobody takes tasks", func(in *verdict.Input) {
			untasked(in)
			in.Backends = []backend.Status{{ID: 7, Alive: true, Slots: 16, Decommissioning: true}, {ID: 8, Alive: true, Slots: 16, BlackListed: "its warehouse refuses writes: no space"}, {ID: 9, Alive: true}}
		}, verdict.NoBackend, verdict.Bad, "No backend takes tasks: backend 7 is being decommissioned, backend 8 is on the black list, since its warehouse refuses writes: no space, backend 9 is shutting down."},
		{"tasks are to leave", func(in *verdict.Input) { in.Backends[0].Decommissioning = true }, verdict.Loading, verdict.OK, "2 tasks to leave: backend 9 is being decommissioned."},
		{"as many tasks as there is work for", func(in *verdict.Input) {
			in.Job.Load.DesiredConcurrentNumber, in.SlotsTaken, in.Wanted = 8, 16, 2
		}, verdict.Loading, verdict.OK, "2 tasks; lag 100."},
		{"fewer slots than wanted", func(in *verdict.Input) {
			in.Job.Load.DesiredConcurrentNumber, in.SlotsTaken = 8, 16
		}, verdict.Loading, verdict.OK, "2 of 8 tasks: all 16 slots of 1 backend are taken."},
		{"being placed", untasked, verdict.Starting, verdict.Busy, "being placed"},
		{"not placed, since partitions are unknown", func(in *verdict.Input) {
			untasked(in)
			in.View = &kafka.View{Err: kafka.ErrUnreachable}
		}, verdict.BrokerAway, verdict.Busy, "Kafka does not answer: no broker answers"},
		{"a file is gone", func(in *verdict.Input) {
			untasked(in)
			in.View = &kafka.View{Err: errors.New("FILE:ca.pem: no such file")}
		}, verdict.BrokerAway, verdict.Busy, "Kafka cannot be asked: FILE:ca.pem: no such file."},
		{"broker away", func(in *verdict.Input) {
			in.View = &kafka.View{Err: fmt.Errorf("%w: b1:9092: refused", kafka.ErrUnreachable)}
			in.History.BrokerAway = now.Add(-10 * time.Second)
		}, verdict.BrokerAway, verdict.Busy, "since 2026-11-30 11:59:50: no broker answers: b1:9092: refused"},
		{"broker away for long", func(in *verdict.Input) {
			in.View = &kafka.View{Err: kafka.ErrUnreachable}
			in.History.BrokerAway = now.Add(-2 * time.Minute)
		}, verdict.BrokerAway, verdict.Bad, "no broker answers"},
		{"topic gone", func(in *verdict.Input) { in.View = &kafka.View{Err: kafka.ErrNoTopic} }, verdict.NoTopic, verdict.Bad, "Topic 'orders' is gone"},
		{"denied", func(in *verdict.Input) { in.View = &kafka.View{Err: kafka.ErrDenied} }, verdict.BrokerAway, verdict.Bad, "Kafka refuses"},
		{"not taken", func(in *verdict.Input) {
			in.Tasks, in.Refused = nil, map[schedule.Ref]string{{TaskID: 1, Epoch: 5}: "bad property"}
		}, verdict.NotTaken, verdict.Bad, "Backend 9 does not start task 1: bad property"},
		{"refused at an older epoch", func(in *verdict.Input) {
			in.Tasks, in.Refused = nil, map[schedule.Ref]string{{TaskID: 1, Epoch: 4}: "bad property"}
		}, verdict.Starting, verdict.Bad, "join the share group, 0 of 2"},
		{"warehouse", func(in *verdict.Input) {
			still(in, 20*time.Second)
			in.Tasks[1].Trouble, in.Tasks[1].TroubleKind = "disk full.", backendv1.TroubleKind_TROUBLE_KIND_WAREHOUSE
			in.Tasks[0].MaxDeliveries = 6
		}, verdict.Trouble, verdict.Busy, "The warehouse refuses writes: disk full (some records were delivered 6 times)."},
		{"warehouse, by the backend", func(in *verdict.Input) {
			still(in, 70*time.Second)
			in.Backends[0].WarehouseError = "read-only"
		}, verdict.Trouble, verdict.Bad, "of backend 9: read-only"},
		{"trouble of one, others load", func(in *verdict.Input) { in.Tasks[1].Trouble = "x" }, verdict.Loading, verdict.OK, "Loading"},
		{"stuck", func(in *verdict.Input) { still(in, 31*time.Second); in.Tasks[0].HeldRecords = 7 }, verdict.Stuck, verdict.Bad, "Partition 0 has settled nothing for 31s, lag 100: 2 tasks polling, 7 records held."},
		{"not yet stuck", func(in *verdict.Input) { still(in, 29*time.Second) }, verdict.Loading, verdict.OK, "Loading 0 rows/s"},
		{"open transaction", func(in *verdict.Input) {
			still(in, time.Minute)
			partition(in, kafka.Partition{Log: kafka.Log{End: 60, StableEnd: 50}, Position: kafka.Position{Lag: 10}})
		}, verdict.OpenTxn, verdict.Warn, "open since offset 50"},
		{"crowded ledger", func(in *verdict.Input) {
			still(in, time.Minute)
			for offset := int64(52); len(in.Ledgers[0].Ranges) < ledger.MaxRanges; offset += 2 {
				in.Ledgers[0].Ranges = append(in.Ledgers[0].Ranges, offsets.Range{First: offset, Last: offset})
			}
		}, verdict.LedgerFull, verdict.Bad, "128 ranges above offset 50"},
		{"joining", func(in *verdict.Input) {
			for i := range in.Tasks {
				in.Tasks[i].Phase = backendv1.TaskStatus_PHASE_JOINING
				in.Job.Tasks[i].AssignedMs = now.UnixMilli() - 3000
			}
		}, verdict.Starting, verdict.Busy, "Tasks join the share group, 0 of 2."},
		{"idle", func(in *verdict.Input) {
			still(in, time.Hour)
			partition(in, kafka.Partition{Log: kafka.Log{End: 50, StableEnd: 50}, Position: kafka.Position{Start: 50}})
		}, verdict.Idle, verdict.OK, "none since 2026-11-30 11:58:30."},
		{"an empty partition that the group does not know", func(in *verdict.Input) {
			still(in, time.Hour)
			partition(in, kafka.Partition{Log: kafka.Log{End: 50, StableEnd: 50}, Position: kafka.Position{Start: -1, Lag: -1}})
		}, verdict.Idle, verdict.OK, "All loaded"},
		{"unknown lag", func(in *verdict.Input) {
			partition(in, kafka.Partition{Log: kafka.Log{End: 60, StableEnd: 60}, Position: kafka.Position{Start: -1, Lag: -1}})
		}, verdict.Loading, verdict.OK, "2 tasks."},
		{"done with, not settled", func(in *verdict.Input) {
			still(in, 0)
			partition(in, kafka.Partition{Log: kafka.Log{End: 60, StableEnd: 60}, Position: kafka.Position{Start: 60}})
		}, verdict.Checking, verdict.Busy, "10 offsets of partition 0 again, from 50 on"},
		{"what was lost is told", func(in *verdict.Input) { in.Ledgers[0].Expired = 12 }, verdict.Loading, verdict.OK, "12 offsets of partition 0 expired"},
		{"created again", func(in *verdict.Input) { in.View.Topic.ID = kafka.TopicID{2} }, verdict.Loading, verdict.OK, "The topic was created again"},
		{"group is pinned again", func(in *verdict.Input) {
			in.Job.Tasks[0].BackendId, in.Job.Tasks[1].BackendId, in.Tasks = 0, 0, nil
			in.Pinned = verdict.Pinned{At: now, Why: "offset 3 of partition 0", Running: true}
		}, verdict.PinningAgain, verdict.Busy, "stands still at offset 3 of partition 0: it is pinned again"},
		{"group was pinned again", func(in *verdict.Input) {
			in.Pinned = verdict.Pinned{At: now, Why: "offset 3 of partition 0"}
		}, verdict.Loading, verdict.OK, "Pinned again at 2026-11-30 12:00:00, since the share group stood still at offset 3"},
		{"group could not be pinned again", func(in *verdict.Input) {
			in.Pinned = verdict.Pinned{At: now, Why: "offset 3 of partition 0", Failure: "not authorized"}
		}, verdict.Loading, verdict.OK, "could not be pinned again at 2026-11-30 12:00:00, which is tried again: not authorized."},
		{"paused, to be resumed", func(in *verdict.Input) {
			jobState(raftlogv1.JobState_JOB_STATE_PAUSED, 103, "column 'b' is gone")(in)
			in.Job.AutoResumes, in.Job.AutoResumedMs = 2, now.UnixMilli()
		}, verdict.PausedByError, verdict.Bad, "column 'b' is gone. It is resumed by itself at 2026-11-30 12:00:40, or once that is possible."},
		{"paused, could not be resumed", func(in *verdict.Input) {
			jobState(raftlogv1.JobState_JOB_STATE_PAUSED, 4, "no partitions")(in)
			in.SetupError = "no broker answers"
		}, verdict.PausedByError, verdict.Bad, "The last try failed: no broker answers."},
		{"paused for a person", jobState(raftlogv1.JobState_JOB_STATE_PAUSED, 105, "lost 10..49 (40)"), verdict.PausedByError, verdict.Bad, "lost 10..49 (40)."},
		{"resumed by itself", func(in *verdict.Input) {
			in.Job.AutoResumes, in.Job.AutoResumedMs, in.Job.LastReason = 3, now.UnixMilli(), "column 'b' is gone."
		}, verdict.Loading, verdict.OK, "Resumed by itself at 2026-11-30 12:00:00, which was try 3 in a row, from: column 'b' is gone."},
		{"repairs", func(in *verdict.Input) {
			in.Job.Tasks = append(in.Job.Tasks, &raftlogv1.Task{Id: 9, Epoch: 9, BackendId: 1, Repair: []*typesv1.PartitionRanges{{Ranges: []*typesv1.OffsetRange{{First: 3, Last: 5}}}}})
			in.Tasks = append(in.Tasks, &backendv1.TaskStatus{Task: &backendv1.TaskRef{TaskId: 9, Epoch: 9}, Trouble: "no leader"})
		}, verdict.Loading, verdict.OK, "The share group will not deliver 3 offsets again, past its delivery limit or start offset: a repair task reads them. It has trouble: no leader."},
		{"has repaired", func(in *verdict.Input) { in.Job.Repaired = 1 }, verdict.Loading, verdict.OK, "Repair loaded 1 record that the share group had given up."},
		{"classic, well", classic, verdict.Loading, verdict.OK, "with 2 tasks; lag 100."},
		{"classic, settled above", func(in *verdict.Input) {
			classic(in)
			in.Ledgers[0].Ranges = offsets.Of(offsets.Range{First: 60, Last: 69}, offsets.Range{First: 140, Last: 149})
		}, verdict.Loading, verdict.OK, "lag 80."},
		{"classic, log end below", func(in *verdict.Input) {
			classic(in)
			partition(in, kafka.Partition{Log: kafka.Log{End: 10, StableEnd: 10}, Position: kafka.Position{Start: -1, Lag: -1}})
			still(in, time.Second)
		}, verdict.Idle, verdict.OK, "All loaded"},
		{"classic, starting", func(in *verdict.Input) {
			classic(in)
			for i := range in.Tasks {
				in.Tasks[i].Phase = backendv1.TaskStatus_PHASE_JOINING
				in.Job.Tasks[i].AssignedMs = now.UnixMilli() - 3000
			}
		}, verdict.Starting, verdict.Busy, "Tasks start, 0 of 2."},
		{"classic, not started", func(in *verdict.Input) { classic(in); in.Job.Started = false }, verdict.SettingUp, verdict.Busy, "The job is being started."},
		{"classic, open transaction", func(in *verdict.Input) {
			classic(in)
			still(in, time.Hour)
			partition(in, kafka.Partition{Log: kafka.Log{End: 60, StableEnd: 50}, Position: kafka.Position{Start: -1, Lag: -1}})
		}, verdict.Idle, verdict.OK, "Partition 0 has 10 offsets that wait for a transaction of their producer, open since offset 50."},
		{"classic, reading uncommitted", func(in *verdict.Input) {
			classic(in)
			in.Job.Load.ReadUncommitted = true
			partition(in, kafka.Partition{Log: kafka.Log{End: 60, StableEnd: 50}, Position: kafka.Position{Start: -1, Lag: -1}})
		}, verdict.Loading, verdict.OK, "lag 10."},
		{"classic, stuck", func(in *verdict.Input) { classic(in); still(in, 31*time.Second) }, verdict.Stuck, verdict.Bad, "Partition 0 has settled nothing for 31s, lag 100: 2 tasks polling"},
		{"classic, out of range", func(in *verdict.Input) {
			classic(in)
			still(in, 6*time.Second)
			in.Tasks[0].Trouble, in.Tasks[0].TroubleKind = "lost 10..49 (40)", backendv1.TroubleKind_TROUBLE_KIND_OUT_OF_RANGE
		}, verdict.Trouble, verdict.Busy, "A partition stands still: lost 10..49 (40)."},
		{"classic, waiting for a slot", func(in *verdict.Input) {
			classic(in)
			untasked(in)
			in.SlotsTaken = 16
		}, verdict.NoSlot, verdict.Warn, "all 16 of 1 backend are taken"},
		{"classic, fewer slots than partitions", func(in *verdict.Input) {
			classic(in)
			in.SlotsTaken = 16
			for p := range int32(3) {
				in.View.Partitions[p] = in.View.Partitions[0]
			}
			in.View.Topic.Partitions = []int32{0, 1, 2}
		}, verdict.Loading, verdict.OK, "2 of 3 tasks: all 16 slots"},
		{"classic, a pinned partition is not there", func(in *verdict.Input) {
			classic(in)
			in.Job.Load.KafkaPartitions = []int32{0, 7}
		}, verdict.Loading, verdict.OK, "Partition 7 of kafka_partitions is not in topic 'orders'."},
		{"classic, topic gone", func(in *verdict.Input) { classic(in); in.View = &kafka.View{Err: kafka.ErrNoTopic} }, verdict.NoTopic, verdict.Bad, "if it is created again, the job goes on from its beginning"},
		{"ALTER passed over some", func(in *verdict.Input) { in.Ledgers[0].Skipped = offsets.Of(offsets.Range{First: 3, Last: 9}) }, verdict.Loading, verdict.OK, "ALTER passed over 7 offsets of partition 0: 3-9."},
		{"limit near", func(in *verdict.Input) { in.Job.WindowErrors = 9 }, verdict.Loading, verdict.OK, "9 error rows of 10 allowed"},
		{"without rights", func(in *verdict.Input) { in.Job.StartNote = "isolation stays read_uncommitted" }, verdict.Loading, verdict.OK, "Note: isolation stays"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := well()
			tt.change(&in)
			if got := verdict.Of(in); got.Kind != tt.kind || got.Severity != tt.severity || !strings.Contains(got.Text, tt.text) {
				t.Errorf("got %+v, want %s, severity %d, %q", got, tt.kind, tt.severity, tt.text)
			}
		})
	}
}

func TestTracker(t *testing.T) {
	tracker := verdict.NewTracker()
	job := &raftlogv1.Job{Id: 1, State: raftlogv1.JobState_JOB_STATE_RUNNING}
	l := []ledger.View{{Key: keyA}}
	away := &kafka.View{Err: kafka.ErrUnreachable}
	for i := range 30 {
		if i < 20 {
			l = []ledger.View{{Key: keyA, Loaded: int64(i)}}
		}
		view := away
		if i < 25 {
			view = nil
		}
		job.Counters = &typesv1.Counters{LoadedRows: int64(100 * i)}
		tracker.Observe(now.Add(time.Duration(i)*time.Second), job, l, view)
	}
	h := tracker.History(1)
	if h.RowsPerSecond != 100 || h.Moved[keyA] != now.Add(19*time.Second) || h.BrokerAway != now.Add(25*time.Second) {
		t.Errorf("History = %+v", h)
	}
	caughtUp := &kafka.View{Topic: kafka.Topic{ID: id}, Partitions: map[int32]kafka.Partition{0: {}}}
	tracker.Observe(now.Add(time.Minute), job, l, caughtUp)
	if h := tracker.History(1); !h.BrokerAway.IsZero() || h.Moved[keyA] != now.Add(time.Minute) {
		t.Errorf("back and without lag: %+v; want no absence, and nothing that stands still", h)
	}
	job.State = raftlogv1.JobState_JOB_STATE_PAUSED
	tracker.Observe(now.Add(time.Hour), job, l, nil)
	if h := tracker.History(1); h.Moved[keyA] != now.Add(time.Hour) || h.RowsPerSecond != 0 {
		t.Errorf("paused: %+v; want its time not counted", h)
	}
	tracker.Retain(func(uint64) bool { return false })
	if h := tracker.History(1); len(h.Moved) != 0 {
		t.Errorf("History of a forgotten job = %+v", h)
	}
}
