package seal_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal/fe/seal"
)

func unlocked(t *testing.T, dir string, used ...string) *seal.Sealer {
	t.Helper()
	s := seal.New(dir)
	if err := s.Unlock(used); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealAndOpen(t *testing.T) {
	dir := t.TempDir()
	s := unlocked(t, dir)
	for _, secret := range []string{"", "hunter2", "größe\x00\xff", strings.Repeat("x", 1<<20)} {
		sealed, err := s.Seal([]byte(secret), "property a")
		if err != nil {
			t.Fatal(err)
		}
		if secret != "" && strings.Contains(sealed, secret) {
			t.Errorf("the secret is in %.80q", sealed)
		}
		again, err := s.Seal([]byte(secret), "property a")
		if err != nil || again == sealed {
			t.Errorf("sealed twice it is the same text (%v)", err)
		}
		// The next process of the frontend reads it.
		if got, err := unlocked(t, dir, seal.KeyID(sealed)).Open(sealed, "property a"); err != nil || string(got) != secret {
			t.Errorf("opened as %.20q (%v), want %.20q", got, err, secret)
		}
		if _, err := s.Open(sealed, "property b"); err == nil {
			t.Error("it opens for another purpose")
		}
		for i := range 40 { // in the text's every part
			at := i * (len(sealed) - 1) / 39
			if damaged := sealed[:at] + string(sealed[at]^1) + sealed[at+1:]; damaged != sealed {
				if _, err := s.Open(damaged, "property a"); err == nil {
					t.Errorf("it opens with byte %d changed", at)
				}
			}
		}
	}
	info, err := os.Stat(filepath.Join(dir, "cluster.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file has mode %v (%v)", info.Mode(), err)
	}
}

func TestKeyFile(t *testing.T) {
	other := t.TempDir()
	sealed, err := unlocked(t, other).Seal([]byte("x"), "p")
	if err != nil {
		t.Fatal(err)
	}
	used := seal.KeyID(sealed)
	content, err := os.ReadFile(filepath.Join(other, "cluster.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, content string
		mode          os.FileMode
		used          []string
		want          string
	}{
		{"the cluster's", string(content), 0o600, []string{used, used}, ""},
		{"nothing sealed yet", string(content), 0o400, nil, ""},
		{"missing", "", 0, []string{used}, "is missing: passwords and files of this cluster are sealed with key " + used},
		{"another one's", string(content), 0o600, []string{used, "00112233"}, "another cluster's: it holds key " + used},
		{"readable by others", string(content), 0o640, []string{used}, "chmod 600"},
		{"empty", "\n", 0o600, nil, "is not a cluster's key"},
		{"cut off", string(content[:40]), 0o600, nil, "is not a cluster's key"},
		{"garbage", "shoal-cluster-key-v1 !!", 0o600, nil, "is not a cluster's key"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "cluster.key")
		if tt.content != "" {
			if err := os.WriteFile(path, []byte(tt.content), tt.mode); err != nil {
				t.Fatal(err)
			}
		}
		err := seal.New(dir).Unlock(tt.used)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %v, want %q and the path", tt.name, err, tt.want)
		}
		if _, err := os.Stat(path); tt.content == "" && err == nil {
			t.Errorf("%s: a key was made although one is in use", tt.name)
		}
	}
}

func TestLocked(t *testing.T) {
	s := seal.New(t.TempDir())
	if _, err := s.Seal([]byte("x"), "p"); !errors.Is(err, seal.ErrLocked) {
		t.Errorf("Seal = %v, want ErrLocked", err)
	}
	if _, err := s.Open("sealed:v1:00:AAAA", "p"); !errors.Is(err, seal.ErrLocked) {
		t.Errorf("Open = %v, want ErrLocked", err)
	}
}

func FuzzOpen(f *testing.F) {
	s := seal.New(f.TempDir())
	if err := s.Unlock(nil); err != nil {
		f.Fatal(err)
	}
	sealed, err := s.Seal([]byte("x"), "p")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add("sealed:v1:" + seal.KeyID(sealed) + ":")
	f.Add("sealed:v1:")
	f.Add("clear")
	f.Fuzz(func(t *testing.T, text string) {
		if secret, err := s.Open(text, "p"); err == nil && string(secret) != "x" {
			t.Errorf("%q opens as %q", text, secret)
		}
	})
}

// TestTake: a key that another frontend gave opens what was sealed there; it
// never takes the place of another one.
func TestTake(t *testing.T) {
	first, second, stranger := seal.New(t.TempDir()), seal.New(t.TempDir()), seal.New(t.TempDir())
	if _, err := first.Key(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the key of an empty folder: %v", err)
	}
	for _, s := range []*seal.Sealer{first, stranger} {
		if err := s.Unlock(nil); err != nil {
			t.Fatal(err)
		}
	}
	sealed, err := first.Seal([]byte("secret"), "a test")
	if err != nil {
		t.Fatal(err)
	}
	key, err := first.Key()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := second.Take(key); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.Unlock([]string{seal.KeyID(sealed)}); err != nil {
		t.Fatal(err)
	}
	if secret, err := second.Open(sealed, "a test"); err != nil || string(secret) != "secret" {
		t.Errorf("opened as %q, %v", secret, err)
	}
	if err := stranger.Take(key); err == nil || !strings.Contains(err.Error(), "give the frontend an empty data folder") {
		t.Errorf("another key was replaced: %v", err)
	}
	if err := stranger.Take(key[:31]); err == nil {
		t.Error("half a key was taken")
	}
}
