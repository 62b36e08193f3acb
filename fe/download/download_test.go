package download_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"shoal/fe/download"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGet(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "0123456789") })
	mux.HandleFunc("/empty", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "012")
	})
	for path, to := range map[string]string{
		"/moved": "/file", "/loop": "/loop", "/to-file": "file:///etc/passwd", "/to-ftp": "ftp://127.0.0.1/x", "/to-cloud": "http://169.254.169.254/latest", "/to-user": "http://u:p@127.0.0.1/x",
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
	}
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, tt := range []struct{ url, want, err string }{
		{server.URL + "/file", "0123456789", ""},
		{server.URL + "/moved", "0123456789", ""},
		{server.URL + "/empty", "", ""},
		{server.URL + "/endless", "", "too large"},
		{server.URL + "/cut", "", "unexpected EOF"},
		{server.URL + "/nothing", "", "404"},
		{server.URL + "/loop", "", "redirects"},
		{server.URL + "/to-file", "", "'file' is not supported"},
		{server.URL + "/to-ftp", "", "'ftp' is not supported"},
		{server.URL + "/to-cloud", "", "169.254.169.254 may not be reached"},
		{server.URL + "/to-user", "", "name and password"},
		{"http://[fe80::1]/x", "", "fe80::1 may not be reached"},
		{"http://[::ffff:169.254.1.1]/x", "", "169.254.1.1 may not be reached"},
		{"http://0.0.0.0/x", "", "may not be reached"},
		{"file:///etc/passwd", "", "'file' is not supported"},
		{"/etc/passwd", "", "'' is not supported"},
		{"http://u:hunter2@127.0.0.1/", "", "name and password"},
		{"http:///x", "", "no host"},
		{"http://127.0.0.1:1/x", "", "refused"},
		{"http://a b/", "", "no URL"},
	} {
		content, err := download.Get(t.Context(), tt.url, 10)
		switch {
		case tt.err == "" && (err != nil || string(content) != tt.want):
			t.Errorf("%s: %q, %v, want %q", tt.url, content, err, tt.want)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "hunter2")):
			t.Errorf("%s: %v, want %q", tt.url, err, tt.err)
		}
	}
	if _, err := download.Get(t.Context(), server.URL+"/file", 9); !errors.Is(err, download.ErrTooLarge) {
		t.Errorf("a byte too many: %v, want ErrTooLarge", err)
	}
}

func TestGetFromHTTPS(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	server := httptest.NewUnstartedServer(http.RedirectHandler(plain.URL, http.StatusFound))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	// Its certificate is of no authority that the machine knows.
	if _, err := download.Get(t.Context(), server.URL, 10); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("Get = %v, want a certificate that is not trusted", err)
	}
}

// TestGetEnds: a server that answers nothing does not hold the caller.
func TestGetEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	if _, err := download.Get(ctx, server.URL, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("Get = %v, want it cancelled", err)
	}
}
