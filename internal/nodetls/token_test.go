package nodetls_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shoal/internal/nodetls"
)

// issue makes certificates for nodes a and b and returns their tokens.
func issueTwo(t *testing.T, dir string, newToken bool) (a, b nodetls.Token) {
	t.Helper()
	if _, err := nodetls.Issue(dir, [][]string{{"a"}, {"b"}}, newToken, time.Now()); err != nil {
		t.Fatal(err)
	}
	var tokens [2]nodetls.Token
	for i, node := range []string{"a", "b"} {
		var err error
		if tokens[i], err = nodetls.TokenIn(filepath.Join(dir, node)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "operator", nodetls.TokenFile)); err == nil {
		t.Error("operators have the nodes' token")
	}
	return tokens[0], tokens[1]
}

// TestTokenOfAnAuthority: it is made once, stays at renewals, and changes only when
// it is told to. An authority from before there were tokens goes on without.
func TestTokenOfAnAuthority(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	first, other := issueTwo(t, dir, false)
	if first.IsNone() || first != other {
		t.Fatal("the nodes do not share a token")
	}
	info, err := os.Stat(filepath.Join(dir, "a", nodetls.TokenFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	if again, _ := issueTwo(t, dir, false); again != first {
		t.Error("a renewal changes the token")
	}
	if renewed, _ := issueTwo(t, dir, true); renewed == first || renewed.IsNone() {
		t.Error("the token that was asked for is not new")
	}
	if err := os.Remove(filepath.Join(dir, nodetls.TokenFile)); err != nil {
		t.Fatal(err)
	}
	if none, _ := issueTwo(t, dir, false); !none.IsNone() {
		t.Error("an authority without a token gives one")
	}
}

func TestReadToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	for content, want := range map[string]string{
		"0123456789abcdef\n": "", "short": "at least 16", "0123456789 abcdef": "without blanks", "0123456789abcde\xff": "ASCII", "": "at least",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := nodetls.ReadToken(path); (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || content != "" && strings.Contains(err.Error(), content)) {
			t.Errorf("%q: %v", content, err)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := nodetls.ReadToken(path); err == nil || !strings.Contains(err.Error(), "may be read by others") {
		t.Errorf("a file that others may read: %v", err)
	}
}

// TestTokenIsNotShown, however it is printed.
func TestTokenIsNotShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	const secret = "0123456789abcdef"
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	token, err := nodetls.ReadToken(path)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", token)
	fmt.Fprintf(&log, "%v %+v %#v %s", token, token, token, token)
	if strings.Contains(log.String(), secret) {
		t.Errorf("shown in %s", log.String())
	}
}
