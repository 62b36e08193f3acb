package stmt_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"shoal/fe/errno"
)

// statementsOf are the statements of a script.
func statementsOf(t testing.TB, path string) []string {
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile(`(?ms)^(?:sql|describe)[^\n]*\n(.*?)\n----`).FindAllStringSubmatch(string(script), -1) {
		out = append(out, m[1])
	}
	return out
}

// FuzzStatements: whatever a client sends is carried out or refused with a
// number and a reason; an error that nobody classified is a bug. Describing
// it is no different.
func FuzzStatements(f *testing.F) {
	scripts, err := filepath.Glob("testdata/statements/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range scripts {
		for _, text := range statementsOf(f, path) {
			f.Add(text)
		}
	}
	fe := newFrontend(f)
	sess := fe.connect()
	for _, text := range []string{"CREATE DATABASE shop", "CREATE TABLE shop.t (a INT, s VARCHAR(10))"} {
		if err := fe.Execute(f.Context(), sess, text, nil, &printed{}); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		sess.DB = "shop"
		_, described := fe.Describe(ctx, sess, text)
		for _, err := range []error{described, fe.Execute(ctx, sess, text, nil, &printed{})} {
			if err != nil && strings.HasPrefix(errno.From(err).Msg, "internal error") && ctx.Err() == nil {
				t.Errorf("%q: nobody classified: %v", text, err)
			}
		}
	})
}
