package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shoal/internal/tests3"
	"shoal/internal/warehouse"
)

// A bucket that refuses objects, and one that does not answer, keep the gate
// shut; meanwhile other tasks hear at once what one of them finds out.
func TestGateOnS3(t *testing.T) {
	s := tests3.Start(t)
	tests3.Setenv(t)
	var full atomic.Bool
	trials, goOn := make(chan struct{}, 100), make(chan struct{})
	wh, err := warehouse.Open(s.Bucket("gate", s.Proxy(func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if full.Load() && r.Method == http.MethodPut {
			trials <- struct{}{}
			<-goOn
			tests3.Refuse(w, 403, "QuotaExceeded", "the bucket is full")
			return
		}
		pass.ServeHTTP(w, r)
	})))
	if err == nil {
		err = wh.Bootstrap(t.Context(), "c1")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer wh.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() { wh.Watch(ctx, "c1") })
	defer watch.Wait()
	defer cancel()

	g := &gate{warehouse: wh}
	if err := g.Ready(); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	g.shut(errors.New("upload failed"))
	first := make(chan error)
	go func() { first <- g.Ready() }()
	<-trials
	if err := g.Ready(); err == nil || err.Error() != "upload failed" {
		t.Errorf("while another one tries: %v", err)
	}
	close(goOn)
	if err := <-first; err == nil || !strings.Contains(err.Error(), "the bucket is full") {
		t.Errorf("the one who tries: %v", err)
	}
	full.Store(false)
	becomes(t, g, "")
	s.Kill()
	becomes(t, g, "s3://gate/shoal")
	s.Run()
	becomes(t, g, "")
}

// becomes waits until the gate is open, or shut for a reason.
func becomes(t *testing.T, g *gate, want string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		err := g.Ready()
		if want == "" && err == nil || want != "" && err != nil && strings.Contains(err.Error(), want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("Ready = %v, want %q", err, want)
		}
	}
}
