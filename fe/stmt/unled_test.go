package stmt_test

import (
	"context"
	"strings"
	"testing"

	"shoal/fe/stmt"
)

// unled is a cluster in which no frontend leads: all else would wait.
type unled struct{ sending }

func (unled) Led(context.Context) bool { return false }

// TestUnled: who is missing is told also while no frontend leads, with a warning.
func TestUnled(t *testing.T) {
	f := newFrontend(t)
	e := stmt.New(stmt.Config{Store: f.store, Queries: f.queries, Nodes: nodes{}, Cluster: unled{}, Processes: f.processes})
	for text, want := range map[string]int{
		"SHOW FRONTENDS":                      1,
		"SHOW BACKENDS":                       1,
		"SHOW FRONTENDS WHERE Name = 'other'": 0,
	} {
		s, out := f.connect(), &printed{}
		if err := e.Execute(t.Context(), s, text, nil, out); err != nil || len(out.rows) != want {
			t.Errorf("%s: %v, %d rows, want %d", text, err, len(out.rows), want)
		}
		if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0].Message, "may be old") {
			t.Errorf("%s: warnings %v", text, w)
		}
	}
}
