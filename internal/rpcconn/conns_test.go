package rpcconn_test

import (
	"errors"
	"testing"

	"google.golang.org/grpc/connectivity"

	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
)

func TestConns(t *testing.T) {
	conns := rpcconn.NewConns(rpcconn.DialOptions(nil, nodetls.Token{})...)
	one, err := conns.To("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	again, err := conns.To("127.0.0.1:1")
	if err != nil || again != one {
		t.Errorf("the same address: %p, %v; want %p", again, err, one)
	}
	if other, err := conns.To("127.0.0.1:2"); err != nil || other == one {
		t.Errorf("another address: %p, %v", other, err)
	}
	conns.Close()
	if now := one.GetState(); now != connectivity.Shutdown {
		t.Errorf("a connection is %v after Close", now)
	}
	if _, err := conns.To("127.0.0.1:1"); !errors.Is(err, rpcconn.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	conns.Close() // again
}
