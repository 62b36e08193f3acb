package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	module   = "shoal"
	maxLines = 500
)

// A pkg is what go list says of a package.
type pkg struct {
	ImportPath, Name, Dir     string
	GoFiles, CgoFiles         []string
	TestGoFiles, XTestGoFiles []string
	Imports                   []string
}

// path is the package's path below the module.
func (p pkg) path() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// production returns the files that the package is built of.
func (p pkg) production() []string { return append(p.GoFiles, p.CgoFiles...) }

func (p pkg) tests() []string { return append(p.TestGoFiles, p.XTestGoFiles...) }

func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-json", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs
		case err != nil:
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// matches reports whether one of the patterns, separated by spaces, stands for path.
func matches(patterns, path string) bool {
	for _, pattern := range strings.Fields(patterns) {
		tree, below := strings.CutSuffix(pattern, "...")
		if pattern == path || below && strings.HasPrefix(path+"/", tree) {
			return true
		}
	}
	return false
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		patterns, path string
		want           bool
	}{
		{"fe/state", "fe/state", true},
		{"fe/state", "fe/state/ledger", false},
		{"sql/ast fe/state/...", "fe/state", true},
		{"sql/ast fe/state/...", "fe/state/ledger", true},
		{"fe/state/...", "fe/statement", false},
		{"...", "be/share", true},
		{"", "be/share", false},
	} {
		if got := matches(tt.patterns, tt.path); got != tt.want {
			t.Errorf("matches(%q, %q) = %v", tt.patterns, tt.path, got)
		}
	}
}

// TestMap holds each package's imports against the map.
func TestMap(t *testing.T) {
	for _, p := range list(t) {
		r, ok := rowOf(p.path())
		if !ok {
			t.Errorf("%s is not on the map: add it to internal/archtest/map_test.go", p.path())
			continue
		}
		for _, imported := range p.Imports {
			path, ours := strings.CutPrefix(imported, module+"/")
			if ours && (!matches(r.may, path) || matches(r.never, path)) {
				t.Errorf("%s imports %s, and the map has no such arrow", p.path(), path)
			}
		}
	}
}

func rowOf(path string) (row, bool) {
	for _, r := range packageMap {
		if matches(r.packages, path) {
			return r, true
		}
	}
	return row{}, false
}

// TestMapItself: no change of the map may let the two sides meet, or wire and statements.
func TestMapItself(t *testing.T) {
	for _, tt := range [][2]string{
		{"fe/server", "be/server"}, {"fe/kafka", "be/source"}, {"be/task", "fe/errno"}, {"be/server", "fe/state"},
		{"sql/parse", "fe/errno"}, {"proto/types/v1", "be/task"}, {"internal/engine", "be/pipe"},
		{"fe/wire", "fe/stmt"}, {"fe/stmt", "fe/wire"}, {"fe/state/jobs", "fe/raftstore"},
		{"fe/coord", "integration/cluster"}, {"cmd/shoal", "internal/testkafka"},
	} {
		r, ok := rowOf(tt[0])
		if !ok || matches(r.may, tt[1]) && !matches(r.never, tt[1]) {
			t.Errorf("the map lets %s import %s", tt[0], tt[1])
		}
	}
}

// TestDoors: production code reaches each foreign system through its doors.
func TestDoors(t *testing.T) {
	for _, p := range list(t) {
		for _, imported := range p.Imports {
			for _, door := range doors {
				if matches(door.module+" "+door.module+"/...", imported) && !matches(door.packages, p.path()) {
					t.Errorf("%s imports %s; only these may: %s", p.path(), imported, door.packages)
				}
			}
		}
	}
}

func TestPure(t *testing.T) {
	for _, p := range list(t) {
		for _, imported := range p.Imports {
			if matches(pure.packages, p.path()) && matches(pure.never, imported) {
				t.Errorf("%s imports %s, but what is replicated must not depend on it", p.path(), imported)
			}
		}
	}
}

// TestFiles: every package has one comment that begins as godoc wants it, and no file is too long to read. Generated
// files are left out.
func TestFiles(t *testing.T) {
	for _, p := range list(t) {
		written, comments := 0, 0
		for _, name := range append(p.production(), p.tests()...) {
			file, lines := parse(t, filepath.Join(p.Dir, name))
			if ast.IsGenerated(file) {
				continue
			}
			if lines > maxLines {
				t.Errorf("%s/%s has %d lines; split it by %d at the latest", p.path(), name, lines, maxLines)
			}
			if strings.HasSuffix(name, "_test.go") && len(p.production()) > 0 {
				continue
			}
			written++
			if text := file.Doc.Text(); text != "" {
				comments++
				if file.Name.Name != "main" && !strings.HasPrefix(text, "Package "+file.Name.Name+" ") {
					t.Errorf("%s/%s: the package comment begins %.20q, not with Package %s", p.path(), name, text, file.Name.Name)
				}
			}
		}
		if written > 0 && comments != 1 {
			t.Errorf("%s has %d package comments, not one", p.path(), comments)
		}
	}
}

// parse returns a file with its comments, and how many lines it has.
func parse(t *testing.T, path string) (*ast.File, int) {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	return file, bytes.Count(source, []byte("\n"))
}
