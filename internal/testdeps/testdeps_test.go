package testdeps_test

import (
	"testing"

	"shoal/internal/testdeps"
)

// recorder notes how a test would have ended. Fatalf and Skipf return, unlike the real ones.
type recorder struct {
	testing.TB
	outcome string
}

func (r *recorder) Helper()               {}
func (r *recorder) Fatalf(string, ...any) { r.outcome = "failed" }
func (r *recorder) Skipf(string, ...any)  { r.outcome = "skipped" }

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name, mariadb, without, where, outcome string
	}{
		{"found", "/usr/bin/mariadb", "", "/usr/bin/mariadb", ""},
		{"nobody said", "", "", "", "failed"},
		{"another one opted out", "", "kafka,mariadbs", "", "failed"},
		{"opted out", "/usr/bin/mariadb", "kafka,mariadb", "/usr/bin/mariadb", "skipped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("SHOAL_MARIADB", tt.mariadb)
			t.Setenv("SHOAL_TEST_WITHOUT", tt.without)
			r := &recorder{TB: t}
			if where := testdeps.Find(r, testdeps.MariaDB); where != tt.where || r.outcome != tt.outcome {
				t.Errorf("Find = %q, test %q; want %q, %q", where, r.outcome, tt.where, tt.outcome)
			}
		})
	}
}
