package share

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/be/backoff"
	"shoal/be/source"
)

// Config says who the member is.
type Config struct {
	// Client is for this member alone, made with ClientOptions: the broker ties
	// a session to its connection, and answers a connection's requests one
	// after the other, so a second member would wait behind the first's fetch.
	Client *kgo.Client
	Group  string
	Topic  string
	// MemberID is unique in the group, at most 36 characters. Empty: random.
	MemberID string
	Logger   *slog.Logger
}

// idleTimeout is kgo's maximum. A connection that is closed for being idle
// releases everything held on it.
const idleTimeout = 15 * time.Minute

// maxRead bounds an answer in memory: MaxBytes plus one batch of the largest
// size that brokers are run with.
const maxRead = 256 << 20

// ClientOptions are what a member's client needs beyond addresses and
// credentials. Give each client its own id (kgo.ClientID): it is how others
// find the member in a description of the group.
func ClientOptions() []kgo.Opt {
	return []kgo.Opt{
		kgo.ConnIdleTimeout(idleTimeout),
		kgo.BrokerMaxReadBytes(maxRead),
		kgo.DisableClientMetrics(),
	}
}

// A Member is one member of a share group.
type Member struct {
	cfg Config

	closing func()        // closes closed, once
	closed  chan struct{} // Close was called; Run leaves

	mu      sync.Mutex
	member  membership    // under mu; its slices are never changed, only replaced
	changed chan struct{} // under mu; closed and replaced when member changes

	// The rest is the owner's.
	leaders  map[source.PartitionID]int32 // broker ids, as last heard
	lookup   backoff.Backoff              // of leaders
	sessions map[int32]*session           // by broker id
	holder   map[source.PartitionID]*session
	queue    []source.Ack
	lost     []source.PartitionID // not yet reported
	turn     int32                // the broker asked last
	empty    int                  // fetches in a row that brought nothing

	decompressor kgo.Decompressor
}

// membership is what the heartbeat knows.
type membership struct {
	assigned []source.PartitionID
	trouble  error // why the last heartbeat failed, nil if it did not
}

// New makes a member that has not joined yet.
func New(cfg Config) *Member {
	if cfg.MemberID == "" {
		cfg.MemberID = rand.Text()
	}
	cfg.Logger = cfg.Logger.With("group", cfg.Group, "member_id", cfg.MemberID)
	closed := make(chan struct{})
	return &Member{
		cfg:      cfg,
		closed:   closed,
		closing:  sync.OnceFunc(func() { close(closed) }),
		changed:  make(chan struct{}),
		leaders:  make(map[source.PartitionID]int32),
		sessions: make(map[int32]*session),
		holder:   make(map[source.PartitionID]*session),
		turn:     -1,

		decompressor: kgo.DefaultDecompressor(),
	}
}

// ID is the member id.
func (m *Member) ID() string { return m.cfg.MemberID }

// Assigned is the current assignment. Any goroutine may ask.
func (m *Member) Assigned() []source.PartitionID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.member.assigned
}

// Fetch asks one leader of assigned partitions for records, each leader in
// turn, and waits up to limits.MaxWait for an assignment and for the first
// record. Nothing that earlier fetches acquired is touched, except that
// acknowledgements queued for this leader ride along, and those for leaders
// that will not be asked go first.
//
// Acked and Lost are meaningful with an error too; partitions never come with
// one. After an error the leader, or the look-up of leaders, rests for a time
// that doubles up to two seconds, so the caller may ask again at once. Errors
// are ErrNotAssigned, ErrUnauthorized, ErrUnknownTopic, ErrFull,
// ErrUnsupported, ErrUnavailable, or the context's.
//
// A request that is on its way is waited for even if ctx ends, at most MaxWait
// and the client's time-out: abandoned, it would acquire records for nobody.
func (m *Member) Fetch(ctx context.Context, limits source.Limits) (source.Fetch, error) {
	deadline := time.Now().Add(limits.MaxWait)
	var f source.Fetch
	s, want, err := m.next(ctx, deadline)
	m.flush(context.WithoutCancel(ctx), want, &f)
	if err == nil {
		limits.MaxWait = min(max(0, time.Until(deadline)), backoff.Patience(len(want.brokers), m.empty, limits.MaxWait))
		err = m.fetch(context.WithoutCancel(ctx), s, want.of[s.broker], limits, &f)
	}
	if f.LockedUntil.IsZero() {
		m.empty++
	} else {
		m.empty = 0
	}
	f.Lost, m.lost = m.lost, nil
	return f, err
}

// next waits for a leader that may be asked now: until deadline, or until ctx
// ends.
func (m *Member) next(ctx context.Context, deadline time.Time) (*session, wanted, error) {
	for ctx.Err() == nil {
		m.mu.Lock()
		member, changed := m.member, m.changed
		m.mu.Unlock()
		err := member.trouble
		if err == nil {
			err = ErrNotAssigned
		}
		retry := deadline
		if len(member.assigned) > 0 {
			err = m.findLeaders(ctx, member.assigned)
			want := m.want(member.assigned)
			s, until, failure := m.choose(want.brokers)
			if s != nil {
				return s, want, nil
			}
			if err == nil {
				err = failure
			}
			retry = backoff.Earlier(backoff.Earlier(retry, until), m.lookup.Until)
		}
		backoff.Wait(ctx, changed, retry)
		if !time.Now().Before(deadline) {
			return nil, wanted{}, err
		}
	}
	return nil, wanted{}, ctx.Err()
}

// wanted is the assigned partitions by leader.
type wanted struct {
	brokers []int32 // in order
	of      map[int32][]source.PartitionID
}

func (m *Member) want(assigned []source.PartitionID) wanted {
	w := wanted{of: make(map[int32][]source.PartitionID)}
	for _, id := range assigned {
		broker, ok := m.leaders[id]
		if !ok {
			continue
		}
		if w.of[broker] == nil {
			w.brokers = append(w.brokers, broker)
		}
		w.of[broker] = append(w.of[broker], id)
	}
	slices.Sort(w.brokers)
	return w
}

// choose is the session of the first broker after the last one asked that does
// not rest; otherwise when the first of them will have rested, and from what.
func (m *Member) choose(brokers []int32) (s *session, until time.Time, failure error) {
	start, _ := slices.BinarySearch(brokers, m.turn+1)
	for i := range brokers {
		broker := brokers[(start+i)%len(brokers)]
		s := m.sessions[broker]
		if s == nil {
			s = newSession(broker)
			m.sessions[broker] = s
		}
		if !s.rest.Resting() {
			m.turn = broker
			return s, time.Time{}, nil
		}
		if until.IsZero() || s.rest.Until.Before(until) {
			until, failure = s.rest.Until, s.rest.Cause
		}
	}
	return nil, until, failure
}
