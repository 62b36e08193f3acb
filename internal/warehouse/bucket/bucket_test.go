package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shoal/internal/tests3"
	"shoal/internal/warehouse/bucket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, uri string) *bucket.Bucket {
	t.Helper()
	place, err := bucket.ParseURI(uri)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bucket.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// content is size bytes of noise.
func content(size int) []byte {
	noise := make([]byte, size)
	rand.NewChaCha8([32]byte{byte(size)}).Read(noise)
	return noise
}

func create(t *testing.T, b *bucket.Bucket, name string, content []byte) error {
	t.Helper()
	return b.Create(t.Context(), name, bytes.NewReader(content), int64(len(content)))
}

// check downloads an object and compares it.
func check(t *testing.T, b *bucket.Bucket, name string, want []byte) {
	t.Helper()
	version, err := b.Stat(t.Context(), name)
	if err != nil || version.Size != int64(len(want)) {
		t.Fatalf("Stat = %v, %v; want %d bytes", version, err, len(want))
	}
	to := filepath.Join(t.TempDir(), "file")
	if err := b.Download(t.Context(), name, version, to); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes came that are not those that went, %v", len(got), err)
	}
}

func TestLife(t *testing.T) {
	s := tests3.Start(t)
	tests3.Setenv(t)
	b := open(t, s.Bucket("life", s.URL))
	for _, size := range []int{0, 1, 16 << 20, 16<<20 + 1, 50 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			name, want := fmt.Sprintf("7/%d.parquet", size), content(size)
			if _, err := b.Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("Stat of nothing = %v", err)
			}
			if err := create(t, b, name, want); err != nil {
				t.Fatal(err)
			}
			check(t, b, name, want)
			if err := create(t, b, name, content(size+1)); !errors.Is(err, fs.ErrExist) {
				t.Fatalf("Create of a name that is taken = %v", err)
			}
			check(t, b, name, want)
			for range 2 {
				if err := b.Remove(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := b.Read(t.Context(), name, 10); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("Read of nothing = %v", err)
			}
		})
	}
	if err := b.Try(t.Context(), 1<<20); err != nil {
		t.Fatal(err)
	}
	var left []string
	filepath.WalkDir(filepath.Join(s.Dir, "life"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left = append(left, path)
		}
		return err
	})
	if len(left) > 0 {
		t.Errorf("what stays: %v", left)
	}
}

// One of many that want a name gets it.
func TestOneCreates(t *testing.T) {
	s := tests3.Start(t)
	tests3.Setenv(t)
	b := open(t, s.Bucket("one", s.URL))
	for _, size := range []int{1000, 17 << 20} {
		results := make(chan error)
		for range 4 {
			go func() { results <- create(t, b, fmt.Sprint(size), content(size)) }()
		}
		won := 0
		for range 4 {
			if err := <-results; err == nil {
				won++
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d made the object of %d bytes", won, size)
		}
	}
}

// isUpload tells requests that bring content from others.
func isUpload(r *http.Request) bool { return r.Method == http.MethodPut || r.Method == http.MethodPost }

// TestFaults: what goes wrong a few times does not show.
func TestFaults(t *testing.T) {
	s := tests3.Start(t)
	tests3.Setenv(t)
	type meddler = func(n int64, w http.ResponseWriter, r *http.Request, pass http.Handler) // n counts such requests
	downloads := func(r *http.Request) bool { return r.Method == http.MethodGet }
	for i, tt := range []struct {
		name   string
		size   int
		which  func(*http.Request) bool
		meddle meddler
	}{
		{"500 twice", 1000, isUpload, func(n int64, w http.ResponseWriter, r *http.Request, pass http.Handler) {
			if n <= 2 {
				tests3.Refuse(w, 500, "InternalError", "We encountered an internal error. Please try again.")
			} else {
				pass.ServeHTTP(w, r)
			}
		}},
		{"each second answer to an upload is lost", 40 << 20, isUpload, func(n int64, w http.ResponseWriter, r *http.Request, pass http.Handler) {
			if n%2 == 0 {
				pass.ServeHTTP(w, r)
				return
			}
			pass.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}},
		{"the answer to a small upload is lost", 1000, isUpload, func(n int64, w http.ResponseWriter, r *http.Request, pass http.Handler) {
			if n > 1 {
				pass.ServeHTTP(w, r)
				return
			}
			pass.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}},
		{"no conditional requests", 1000, isUpload, func(_ int64, w http.ResponseWriter, r *http.Request, pass http.Handler) {
			if r.Header.Get("If-None-Match") != "" {
				tests3.Refuse(w, 501, "NotImplemented", "A header you provided implies functionality that is not implemented.")
			} else {
				pass.ServeHTTP(w, r)
			}
		}},
		{"a download breaks off", 1 << 20, downloads, func(n int64, w http.ResponseWriter, r *http.Request, pass http.Handler) {
			if n > 2 {
				pass.ServeHTTP(w, r)
				return
			}
			whole := httptest.NewRecorder()
			pass.ServeHTTP(whole, r)
			w.Header().Set("Content-Length", whole.Header().Get("Content-Length"))
			io.CopyN(w, whole.Body, 1000)
			panic(http.ErrAbortHandler)
		}},
		{"a download is damaged on the way", 1 << 20, downloads, func(n int64, w http.ResponseWriter, r *http.Request, pass http.Handler) {
			whole := httptest.NewRecorder()
			pass.ServeHTTP(whole, r)
			body := whole.Body.Bytes()
			if n == 1 {
				body[len(body)/2] ^= 1
			}
			for k, v := range whole.Header() {
				w.Header()[k] = v
			}
			w.Write(body)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var count atomic.Int64
			endpoint := s.Proxy(func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
				if tt.which(r) {
					tt.meddle(count.Add(1), w, r, pass)
				} else {
					pass.ServeHTTP(w, r)
				}
			})
			b := open(t, s.Bucket(fmt.Sprintf("faults%d", i), endpoint))
			want := content(tt.size)
			if err := create(t, b, "a", want); err != nil {
				t.Fatal(err)
			}
			check(t, b, "a", want)
			if err := create(t, b, "a", content(10)); !errors.Is(err, fs.ErrExist) {
				t.Errorf("Create of a name that is taken = %v", err)
			}
			if count.Load() < 2 {
				t.Error("the fault did not happen")
			}
		})
	}
}

// TestErrors: people read what is wrong, and no secret.
func TestErrors(t *testing.T) {
	s := tests3.Start(t)
	down := tests3.Start(t)
	down.Kill()
	refuse := func(status int, code, message string) string {
		return s.Bucket("refused", s.Proxy(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { tests3.Refuse(w, status, code, message) }))
	}
	for _, tt := range []struct {
		name, uri, key, secret string
		unavailable            bool
		want                   string
	}{
		{"no bucket", "s3://nothing/x?endpoint=" + s.URL, "", "", false, "there is no such bucket"},
		{"unknown key", s.Bucket("errors", s.URL), "somebody", "", false, "does not know the access key"},
		{"wrong secret", s.Bucket("errors", s.URL), "", "wrong-secret", false, "the secret does not fit"},
		{"no credentials", s.Bucket("errors", s.URL), "-", "-", false, "no credentials were found"},
		{"server down", s.Bucket("errors", down.URL), "", "", true, "connection refused"},
		{"no such host", s.Bucket("errors", "http://s3.invalid"), "", "", true, "cannot be reached"},
		{"access denied", refuse(403, "AccessDenied", "Access Denied"), "", "", false, "the credentials need s3:ListBucket"},
		{"clock", refuse(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large."), "", "", false, "the clock of this machine"},
		{"another region", refuse(301, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint."), "", "", false, "in another region"},
		{"overload", refuse(503, "SlowDown", "Please reduce your request rate."), "", "", true, "SlowDown"},
		{"not even S3", s.Bucket("errors", s.Proxy(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			http.Error(w, "bad gateway", http.StatusBadGateway)
		})), "", "", true, "BadGateway"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tests3.Setenv(t)
			for variable, value := range map[string]string{"AWS_ACCESS_KEY_ID": tt.key, "AWS_SECRET_ACCESS_KEY": tt.secret} {
				if value != "" {
					t.Setenv(variable, strings.TrimPrefix(value, "-"))
				}
			}
			b := open(t, tt.uri)
			_, readErr := b.Read(t.Context(), "marker", 100)
			for _, err := range []error{readErr, create(t, b, "a", content(10)), b.Try(t.Context(), 10)} {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q in it", err, tt.want)
					continue
				}
				if errors.Is(err, bucket.ErrUnavailable) != tt.unavailable || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
					t.Errorf("%v is of the wrong kind", err)
				}
				if strings.Contains(err.Error(), tests3.SecretKey) || strings.Contains(err.Error(), "wrong-secret") {
					t.Errorf("a secret is in %q", err)
				}
			}
		})
	}
}

// TestSlow: a context ends what a server does not, and says so.
func TestSlow(t *testing.T) {
	s := tests3.Start(t)
	tests3.Setenv(t)
	b := open(t, s.Bucket("slow", s.Proxy(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := b.Create(ctx, "a", bytes.NewReader(nil), 0)
	if !errors.Is(err, bucket.ErrUnavailable) || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("after the deadline: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if err := b.Create(ctx, "a", bytes.NewReader(nil), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("after the cancellation: %v", err)
	}
}

// TestDamagedForGood: a file that never comes right is refused, and not kept.
func TestDamagedForGood(t *testing.T) {
	s := tests3.Start(t)
	tests3.Setenv(t)
	b := open(t, s.Bucket("damage", s.URL))
	if err := create(t, b, "a", content(1000)); err != nil {
		t.Fatal(err)
	}
	version, err := b.Stat(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "damage", "shoal", "a"), content(999), 0o644); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "file")
	if err := b.Download(t.Context(), "a", version, to); err == nil {
		t.Error("a damaged object was taken")
	} else {
		t.Log(err)
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file stays after an error: %v", err)
	}
}
