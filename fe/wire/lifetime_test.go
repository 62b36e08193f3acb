package wire_test

import (
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shoal/fe/session"
)

func TestPacketsOutOfOrderAndTooLarge(t *testing.T) {
	ts := startServer(t, nil, func(s *session.Server) { s.MaxAllowedPacket = 1 << 10 })
	c := dialRaw(t, ts)
	c.login(capsDEP)
	c.seq = 5
	c.write([]byte("\x0e"))
	c.seq = 1
	c.wantERR(1156, "08S01")
	c.wantClosed()

	c = dialRaw(t, ts)
	c.login(capsDEP)
	c.command("\x03" + strings.Repeat("x", 1<<10))
	c.wantERR(1153, "08S01")
	c.command("\x0e") // and the connection goes on
	c.want("00 00 00 0200 0100 00")
}

// TestPipelinedCommands: what arrives while a statement runs is not lost.
func TestPipelinedCommands(t *testing.T) {
	c := dialRaw(t, startServer(t, nil, nil))
	c.login(capsDEP)
	if _, err := c.net.Write([]byte("\x07\x00\x00\x00\x03insert\x01\x00\x00\x00\x0e\x01\x00\x00\x00\x0e\x01\x00\x00\x00\x01")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"00 03 00 0200 0000 0a'Records: 3'", "00 00 00 0200 0000 00", "00 00 00 0200 0000 00"} {
		c.seq = 1
		c.want(want)
	}
	c.wantClosed()
}

func TestQuitBehindARunningStatementStopsIt(t *testing.T) {
	ts := startServer(t, nil, nil)
	c := dialRaw(t, ts)
	c.login(capsDEP)
	c.command("\x03hang")
	<-ts.hanging
	c.command("\x01")
	c.net.Close()
	<-ts.ended
}

// TestFirstRowLeavesBeforeTheLast: Flush sends what there is.
func TestFirstRowLeavesBeforeTheLast(t *testing.T) {
	ts := startServer(t, nil, nil)
	c := dialRaw(t, ts)
	c.login(capsDEP)
	c.command("\x03hang")
	c.read()
	c.read()
	c.want("05'first'")
	<-ts.hanging
	killer := dialRaw(t, ts)
	killer.login(capsDEP)
	killer.command("\x0c\x01\x00\x00\x00")
	killer.want("00 00 00 0200 0000 00")
	c.wantERR(1317, "70100")
	<-ts.ended
	c.seq = 1
	c.wantERR(1927, "70100")
	c.wantClosed()
}

func TestConnectionLimit(t *testing.T) {
	ts := startServer(t, nil, func(s *session.Server) { s.MaxConnections = 1 })
	first := dialRaw(t, ts)
	first.login(capsDEP)
	second := dialRaw(t, ts)
	second.want("ff 1004 'Too many connections'")
	second.wantClosed()
}

func TestShutdownDrains(t *testing.T) {
	ts := startServer(t, nil, nil)
	idle, busy := dialRaw(t, ts), dialRaw(t, ts)
	idle.login(capsDEP)
	busy.login(capsDEP)
	busy.command("\x03hangsilent")
	<-ts.hanging
	ts.stop() // returns when both are down
	<-ts.ended
	idle.seq = 1
	idle.wantERR(1053, "08S01")
	idle.wantClosed()
	busy.wantERR(1053, "08S01")
}

// A pipeListener accepts the connections it is given, in memory, so that time
// can be virtual.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	close(l.closed)
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func inBubble(t *testing.T, test func(t *testing.T, dial func() *rawClient)) {
	synctest.Test(t, func(t *testing.T) {
		ln := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		_, stop := serveOn(t, ln, nil, nil)
		test(t, func() *rawClient {
			client, server := net.Pipe()
			ln.conns <- server
			return &rawClient{t: t, net: client}
		})
		stop()
	})
}

func TestLoginTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, dial func() *rawClient) {
		c := dial()
		c.read()
		start := time.Now()
		c.wantClosed()
		if waited := time.Since(start); waited != 10*time.Second {
			t.Errorf("a client that does not log in was let wait for %v", waited)
		}
	})
}

func TestIdleTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, dial func() *rawClient) {
		c := dial()
		c.login(capsDEP)
		start := time.Now()
		c.seq = 1
		c.wantERR(4031, "HY000")
		if waited := time.Since(start); waited != 8*time.Hour {
			t.Errorf("wait_timeout of 28800 s ended after %v", waited)
		}
		c.net.Close()
	})
}

func TestClientThatDoesNotRead(t *testing.T) {
	inBubble(t, func(t *testing.T, dial func() *rawClient) {
		c := dial()
		c.login(capsDEP)
		c.command("\x03rows 1000000 1000") // blocks: nobody reads
		start := time.Now()
		for {
			time.Sleep(time.Second)
			if _, err := c.net.Write([]byte("\x01\x00\x00\x00\x0e")); err != nil {
				break
			}
			if time.Since(start) > time.Hour {
				t.Fatal("the connection outlives net_write_timeout")
			}
		}
		if waited := time.Since(start); waited < time.Minute || waited > 2*time.Minute {
			t.Errorf("net_write_timeout of 60 s ended it after %v", waited)
		}
	})
}
