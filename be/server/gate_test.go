package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shoal/internal/warehouse"
)

// A write that fails shuts the gate until the warehouse takes a file again, and
// so does a warehouse that is gone.
func TestGate(t *testing.T) {
	root := filepath.Join(t.TempDir(), "warehouse")
	wh, err := warehouse.Open("file://" + root)
	if err == nil {
		err = wh.Bootstrap(t.Context(), "c1")
	}
	if err == nil {
		err = wh.Verify(t.Context(), "c1")
	}
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		g := &gate{warehouse: wh}
		expect := func(want string) {
			t.Helper()
			err := g.Ready()
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Fatalf("Ready = %v, want %q", err, want)
			}
		}
		expect("")
		g.shut(errors.New("no space left"))
		expect("") // it was tried at once
		g.shut(errors.New("no space left"))
		expect("no space left") // and not again within a second
		time.Sleep(trialPause + time.Millisecond)
		expect("")
		if err := os.Rename(root, root+".away"); err != nil {
			t.Fatal(err)
		}
		expect("mounted")
		if err := os.Rename(root+".away", root); err != nil {
			t.Fatal(err)
		}
		expect("")
	})
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 {
		t.Errorf("trials left %v, %v", entries, err)
	}
}
