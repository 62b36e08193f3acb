package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"shoal/internal/nodetls"
)

// endPatience is how long clients may go on when a process ends.
const endPatience = 5 * time.Second

// listen opens a TCP listener; port 0 takes a free port.
func listen(what, addr string) (net.Listener, error) {
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (choose another address with --%s-addr)", what, err, what)
	}
	return lis, nil
}

// checkAddress refuses what is not host:port, as a flag's value.
func checkAddress(flag, addr string) error {
	if host, port, err := net.SplitHostPort(addr); err != nil || host == "" || port == "" {
		return fmt.Errorf("--%s: %q is not host:port", flag, addr)
	}
	return nil
}

func checkAddresses(flag string, addrs []string) error {
	for _, addr := range addrs {
		if err := checkAddress(flag, addr); err != nil {
			return err
		}
	}
	return nil
}

// plainAllowed refuses a listener for nodes in clear beyond loopback.
func plainAllowed(what string, lis net.Listener) error {
	if err := nodetls.PlainAllowed(lis.Addr()); err != nil {
		return fmt.Errorf("--%s-addr: %w", what, err)
	}
	return nil
}

// serveGRPC serves until stop is called or the listener fails. Streams under
// way are given a moment to end.
func serveGRPC(ctx context.Context, srv *grpc.Server, lis net.Listener) error {
	var g errgroup.Group
	g.Go(func() error {
		<-ctx.Done()
		graceful := make(chan struct{})
		go func() {
			defer close(graceful)
			srv.GracefulStop()
		}()
		select {
		case <-graceful:
		case <-time.After(endPatience):
			srv.Stop()
			<-graceful
		}
		return nil
	})
	if err := srv.Serve(lis); err != nil && ctx.Err() == nil {
		return err
	}
	return g.Wait()
}

// serveHTTP serves /health and nothing else so far. Requests under way are given
// a moment to end.
func serveHTTP(ctx context.Context, lis net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"status":"OK"}`)
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	var g errgroup.Group
	g.Go(func() error {
		<-ctx.Done()
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
		defer cancel()
		if err := srv.Shutdown(closing); !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return srv.Close()
	})
	if err := srv.Serve(lis); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return g.Wait()
}

// port is the port of a TCP listener.
func port(lis net.Listener) uint32 { return uint32(lis.Addr().(*net.TCPAddr).Port) }
