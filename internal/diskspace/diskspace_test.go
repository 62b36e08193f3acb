package diskspace_test

import (
	"math"
	"strings"
	"testing"

	"shoal/internal/diskspace"
)

func TestReserve(t *testing.T) {
	dir := t.TempDir()
	if err := diskspace.New(dir, 1).Check(); err != nil {
		t.Errorf("a byte in reserve: %v", err)
	}
	err := diskspace.New(dir, math.MaxInt64).Check()
	if err == nil || !strings.Contains(err.Error(), "the disk is full: "+dir) {
		t.Errorf("more in reserve than any disk has: %v", err)
	}
	if err := diskspace.New(dir+"/none", math.MaxInt64).Check(); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}
