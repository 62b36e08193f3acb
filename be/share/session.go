package share

import (
	"fmt"
	"math"

	"shoal/be/backoff"
	"shoal/be/source"
)

const (
	openEpoch  = 0
	closeEpoch = -1
)

// A session is the share session with one broker.
type session struct {
	broker int32
	epoch  int32 // of the next request
	// parts is what the broker has in the session.
	parts map[source.PartitionID]bool
	rest  backoff.Backoff
}

func newSession(broker int32) *session {
	return &session{broker: broker, parts: make(map[source.PartitionID]bool)}
}

// next moves to the epoch of the request after one that was answered.
func (s *session) next() {
	if s.epoch == math.MaxInt32 {
		s.epoch = openEpoch
	}
	s.epoch++
}

// end forgets a session that the broker has no more, or of which it is not
// known what the broker has.
func (m *Member) end(s *session) {
	s.epoch = openEpoch
	clear(s.parts)
	for id, holder := range m.holder {
		if holder == s {
			m.lose(id)
		}
	}
}

// broken takes in that a request to s brought an error instead of an answer.
// The leaders may have changed, if that broker died.
func (m *Member) broken(s *session, doing string, err error) error {
	m.cfg.Logger.Info("share session ended", "broker", s.broker, "cause", err)
	m.end(s)
	for id, broker := range m.leaders {
		if broker == s.broker {
			delete(m.leaders, id)
		}
	}
	err = failure(fmt.Sprintf("%s to broker %d", doing, s.broker), err)
	s.rest.Fail(err)
	return err
}
