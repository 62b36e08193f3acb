package main

import (
	"context"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/test/bufconn"
)

// TestStuckHTTPClient: a client that never ends its request does not make the
// end of a process a failure.
func TestStuckHTTPClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lis := bufconn.Listen(1 << 10)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- serveHTTP(ctx, lis) }()
		client, err := lis.DialContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := client.Write([]byte("GET /health HT")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serveHTTP = %v, want nil", err)
		}
	})
}
