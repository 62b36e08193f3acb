package main

import (
	"context"
	"log/slog"
	"testing"

	beserver "shoal/be/server"
)

// TestBackendOfAFrontendThatFailed: where the frontend of the process ends before
// it is ready, for want of room on its disk, the backend gives its folder back, so
// that both can be opened again.
func TestBackendOfAFrontendThatFailed(t *testing.T) {
	dir := t.TempDir()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		be, err := beserver.New(beserver.Config{DataDir: dir, Frontends: []string{"127.0.0.1:1"}, Host: "127.0.0.1", MemoryLimit: "1G",
			Slots: 1, Threads: 1, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		p := &process{be: be, onReady: func(addresses) { t.Error("the backend serves") }}
		if err := p.runBackend(ended, make(chan struct{})); err != nil {
			t.Errorf("runBackend = %v, want nil", err)
		}
	}
}
