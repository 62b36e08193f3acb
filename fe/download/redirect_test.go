package download

import (
	"net/http"
	"testing"
)

// TestRedirects: a redirect keeps the protection that the address asked for.
func TestRedirects(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		ok       bool
	}{
		{"http://h/a", "http://h/b", true},
		{"http://h/a", "https://h/b", true},
		{"https://h/a", "https://other/b", true},
		{"https://h/a", "http://h/b", false},
		{"https://h/a", "file:///b", false},
	} {
		from, err := http.NewRequest(http.MethodGet, tt.from, nil)
		if err != nil {
			t.Fatal(err)
		}
		to, err := http.NewRequest(http.MethodGet, tt.to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkRedirect(to, []*http.Request{from}); (err == nil) != tt.ok {
			t.Errorf("from %s to %s: %v, want it allowed: %v", tt.from, tt.to, err, tt.ok)
		}
	}
}
