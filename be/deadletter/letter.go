package deadletter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/internal/errorrows"
	backendv1 "shoal/proto/backend/v1"
)

// The headers that a dead letter has besides its own. Consumers find the last
// header of a name, so that these win over those of an earlier delivery.
const (
	HeaderTopic     = "shoal-topic"
	HeaderTopicID   = "shoal-topic-id" // in hexadecimal digits
	HeaderPartition = "shoal-partition"
	HeaderOffset    = "shoal-offset"
	HeaderTimestamp = "shoal-timestamp"  // of the message; UTC
	HeaderJob       = "shoal-job"        // db.job
	HeaderTable     = "shoal-table"      // absent where the message names none
	HeaderErrors    = "shoal-errors"     // how many of its rows are error rows
	HeaderReason    = "shoal-reason"     // of several, each on a line that begins with the message's line
	HeaderColumn    = "shoal-column"     // that are to blame, with commas between; absent without
	HeaderErrorTime = "shoal-error-time" // when the txn was written; UTC
)

// reasonsLimit is about how many bytes of reasons a message carries.
const reasonsLimit = 8 << 10

// letter is a message with what is wrong with it.
type letter struct {
	topic, topicID, partition, offset string
	table, errorTime, timestamp       string
	key, value                        []byte
	headers                           []errorrows.Header

	errors  int64
	lines   []string // of those reasons that are told
	reasons []string
	bytes   int
	columns []string
}

// is tells whether a row is of the same message.
func (l *letter) is(cells [][]byte) bool {
	return l.offset == string(cells[offset]) && l.partition == string(cells[partition]) && l.topicID == string(cells[topicID])
}

// add takes an error row.
func (l *letter) add(cells [][]byte) {
	l.errors++
	if name := string(cells[column]); name != "" && !slices.Contains(l.columns, name) {
		l.columns = append(l.columns, name)
	}
	if l.bytes < reasonsLimit {
		l.lines, l.reasons = append(l.lines, string(cells[line])), append(l.reasons, string(cells[reason]))
		l.bytes += len(cells[reason])
	}
}

// reason is what is wrong, for people.
func (l *letter) reason() string {
	if l.errors == 1 {
		return l.reasons[0]
	}
	var s strings.Builder
	for i, reason := range l.reasons {
		fmt.Fprintf(&s, "line %s: %s\n", l.lines[i], reason)
	}
	if more := l.errors - int64(len(l.reasons)); more > 0 {
		fmt.Fprintf(&s, "and %d more\n", more)
	}
	return strings.TrimSuffix(s.String(), "\n")
}

// record is the message to produce; nil for no letter.
func (l *letter) record(req *backendv1.DeliverDeadLettersRequest) *kgo.Record {
	if l == nil {
		return nil
	}
	r := &kgo.Record{Topic: req.Load.DeadLetterTopic, Key: l.key, Value: l.value}
	for _, h := range l.headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: string(h.Name), Value: h.Value})
	}
	for _, h := range [][2]string{
		{HeaderTopic, l.topic}, {HeaderTopicID, l.topicID}, {HeaderPartition, l.partition}, {HeaderOffset, l.offset},
		{HeaderTimestamp, l.timestamp}, {HeaderJob, req.JobName}, {HeaderTable, l.table}, {HeaderErrors, strconv.FormatInt(l.errors, 10)},
		{HeaderReason, l.reason()}, {HeaderColumn, strings.Join(l.columns, ",")}, {HeaderErrorTime, l.errorTime},
	} {
		if h[1] != "" {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: h[0], Value: []byte(h[1])})
		}
	}
	return r
}
