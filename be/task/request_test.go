package task

import (
	"bytes"
	"testing"
	"time"

	"shoal/be/source"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	typesv1 "shoal/proto/types/v1"
)

func held(first, last int64) *batch {
	p := source.Partition{Acquired: offsets.Of(offsets.Range{First: first, Last: last})}
	for o := first; o <= last; o++ {
		p.Records = append(p.Records, &source.Record{Offset: o})
	}
	b := &batch{}
	b.add(source.Fetch{Partitions: []source.Partition{p}}, time.Second, time.Now())
	return b
}

// A repeated request has the same digest, another txn under the same number
// has not.
func TestDigest(t *testing.T) {
	spec := &backendv1.TaskSpec{JobId: 1, TaskId: 2, Epoch: 3}
	file := func(path string) Written { return Written{Rowset: &typesv1.Rowset{Path: path}} }
	first := request(spec, 1, held(1, 5), file("a"))
	if again := request(spec, 1, held(1, 5), file("a")); !bytes.Equal(first.Digest, again.Digest) {
		t.Error("the same txn has two digests")
	}
	for name, other := range map[string]*frontendv1.CommitTxnRequest{
		"other offsets": request(spec, 1, held(1, 6), file("a")),
		"other file":    request(spec, 1, held(1, 5), file("b")),
		"no file":       request(spec, 1, held(1, 5), Written{}),
	} {
		if bytes.Equal(first.Digest, other.Digest) {
			t.Errorf("%s: same digest", name)
		}
	}
}

// Messages are bytes; what is told of them travels as text.
func TestSamplesAreText(t *testing.T) {
	w := Written{Samples: []*frontendv1.ErrorSample{{Offset: 4, Reason: "bad \xff", Raw: "\xfe"}}}
	got := request(&backendv1.TaskSpec{}, 1, held(4, 4), w).Samples[0]
	if got.Reason != "bad \uFFFD" || got.Raw != "\uFFFD" || got.Offset != 4 {
		t.Errorf("got %v", got)
	}
}

// The open index moves with each poll, except while a CommitTxn may still be
// applied that was opened at an earlier one.
func TestOpenIndex(t *testing.T) {
	var s status
	now := time.UnixMilli(1000)
	s.init(&backendv1.TaskSpec{}, "m", now)
	index := func() uint64 { return s.snapshot(1).OpenIndex }
	s.polling(5, now)
	s.committing()
	s.polling(9, now)
	if got := index(); got != 5 {
		t.Errorf("unanswered: open since %d, want 5", got)
	}
	s.answered()
	s.polling(9, now)
	if got := index(); got != 9 {
		t.Errorf("answered: open since %d, want 9", got)
	}
}
