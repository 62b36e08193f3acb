package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// traps is how many share-groups.md has a number for.
const traps = 32

// TestTraps: docs/share-groups.md has a row for each trap, and the tests and scripts that it names exist.
func TestTraps(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "share-groups.md"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range traps {
		if !strings.Contains(string(text), fmt.Sprintf("\n| %d | ", n+1)) {
			t.Errorf("trap %d has no row", n+1)
		}
	}
	tests := sources(t)
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(text), -1) {
		if name != "TestBroker" && !strings.Contains(tests, "func "+name+"(") {
			t.Errorf("%s does not exist", name)
		}
	}
	for _, script := range regexp.MustCompile(`trap_\w+`).FindAllString(string(text), -1) {
		if _, err := os.Stat(filepath.Join(root, "be", "task", "testdata", script)); err != nil {
			t.Error(err)
		}
	}
	for _, path := range regexp.MustCompile("`([a-z/]+/testdata/[a-z/]+)`").FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(path[1]))); err != nil {
			t.Error(err)
		}
	}
}

// sources is all test files, one after the other.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, p := range list(t) {
		for _, name := range p.tests() {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}
