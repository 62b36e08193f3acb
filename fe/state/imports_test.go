package state_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestImports keeps clocks, randomness, I/O and logs out of the state machine,
// in all its parts.
func TestImports(t *testing.T) {
	forbidden := []string{"time", "math/rand", "math/rand/v2", "crypto/rand", "os", "net", "log", "log/slog", "context", "sync", "runtime", "unsafe"}
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if slices.Contains(forbidden, name) {
				t.Errorf("%s imports %s", path, name)
			}
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Fatalf("looked at %d files: %v", files, err)
	}
}
