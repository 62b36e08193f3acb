package classic

import (
	"testing"
	"time"

	"shoal/be/source"
)

// A log full of holes is handed out in parts, none of which has too many, and
// which make up the whole.
func TestTakeBoundsVoids(t *testing.T) {
	p := &partition{run: run{next: 4*mostVoids + 7}}
	for offset := int64(0); offset < 4*mostVoids; offset += 2 {
		p.run.records = append(p.run.records, &source.Record{Offset: offset})
	}
	records := 0
	for p.hasRun() {
		begin := p.position
		got := p.take(1<<30, 1<<40)
		if got.Acquired[0].First != begin || got.Acquired[0].Last != p.position-1 || len(got.Gaps) > mostVoids+1 {
			t.Fatalf("at %d: %v with %d voids", begin, got.Acquired, len(got.Gaps))
		}
		if int64(len(got.Records))+got.Gaps.Count() != got.Acquired.Count() {
			t.Fatalf("at %d: %d records and %d voids are not %d", begin, len(got.Records), got.Gaps.Count(), got.Acquired.Count())
		}
		records += len(got.Records)
	}
	if records != 2*mostVoids || p.position != 4*mostVoids+7 {
		t.Errorf("%d records up to %d", records, p.position)
	}
}

// What a preview does not take of an answer is not kept for the next look.
func TestLookKeepsNothingInHand(t *testing.T) {
	l := look{Reader: New(Config{Starts: []Start{{}}})}
	p := l.parts[0]
	p.run = run{next: 3, records: []*source.Record{{Offset: 0}, {Offset: 1}, {Offset: 2}}}
	if got, err := l.more(t.Context(), 2, 1<<20, time.Now().Add(time.Minute)); err != nil || len(got) != 2 {
		t.Fatalf("took %d records, %v", len(got), err)
	}
	if p.inHand() || p.position != 2 {
		t.Errorf("in hand: %v, at position %d", p.inHand(), p.position)
	}
}
