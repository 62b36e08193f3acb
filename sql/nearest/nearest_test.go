package nearest_test

import (
	"testing"

	"shoal/sql/nearest"
)

func TestOf(t *testing.T) {
	known := []string{"max_batch_rows", "max_batch_size", "format", "größe", "id"}
	for name, want := range map[string]string{
		"max_batch_row": "max_batch_rows", "MAX_BATCH_SIZES": "max_batch_size", "fromat": "format", "grösse": "größe",
		"compression": "", "": "", "x": "",
	} {
		if got := nearest.Of(name, known); got != want {
			t.Errorf("Of(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestHint(t *testing.T) {
	if got := nearest.Hint("formt", []string{"format"}); got != ", did you mean 'format'?" {
		t.Errorf("Hint = %q", got)
	}
	if got := nearest.Hint("zzz", []string{"format"}); got != "" {
		t.Errorf("a hint out of nothing: %q", got)
	}
}
