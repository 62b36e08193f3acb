package wire_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shoal/fe/session"
)

// A rawClient speaks packets and knows nothing else. It checks the sequence
// numbers of all it reads.
type rawClient struct {
	t   *testing.T
	net net.Conn
	seq byte
}

const (
	capsPlain = 0x0000a20f // PROTOCOL_41, SECURE_CONNECTION, no DEPRECATE_EOF
	capsDEP   = 0x0100a20f
)

func dialRaw(t *testing.T, ts *testServer) *rawClient {
	t.Helper()
	nc, err := net.Dial("tcp", ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &rawClient{t: t, net: nc}
}

func (c *rawClient) read() []byte {
	c.t.Helper()
	payload, err := c.tryRead()
	if err != nil {
		c.t.Fatal(err)
	}
	return payload
}

func (c *rawClient) tryRead() ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(c.net, header[:]); err != nil {
		return nil, err
	}
	if header[3] != c.seq {
		return nil, fmt.Errorf("packet number %d, want %d", header[3], c.seq)
	}
	c.seq++
	payload := make([]byte, int(header[0])|int(header[1])<<8|int(header[2])<<16)
	_, err := io.ReadFull(c.net, payload)
	return payload, err
}

func (c *rawClient) write(payload []byte) {
	c.t.Helper()
	n := len(payload)
	if _, err := c.net.Write(append([]byte{byte(n), byte(n >> 8), byte(n >> 16), c.seq}, payload...)); err != nil {
		c.t.Fatal(err)
	}
	c.seq++
}

func (c *rawClient) command(payload string) {
	c.t.Helper()
	c.seq = 0
	c.write([]byte(payload))
}

func loginBytes(caps uint32, user, tail string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, caps)
	b = binary.LittleEndian.AppendUint32(b, 1<<24)
	b = append(append(b, 45), make([]byte, 23)...)
	b = append(append(b, user...), 0)
	return append(b, tail...)
}

// login logs in as root without a password.
func (c *rawClient) login(caps uint32) {
	c.t.Helper()
	c.read()
	c.write(loginBytes(caps, "root", "\x00"))
	c.want("00 00 00 0200 0000 00")
}

// want reads packets and compares them with their hexadecimal forms; text in
// single quotes stands for itself.
func (c *rawClient) want(packets ...string) {
	c.t.Helper()
	for i, p := range packets {
		want, err := golden(p)
		if err != nil {
			c.t.Fatal(err)
		}
		if got := c.read(); !bytes.Equal(got, want) {
			c.t.Fatalf("packet %d:\n% x %q\nwant\n% x %q", i, got, got, want, want)
		}
	}
}

func golden(s string) ([]byte, error) {
	var b []byte
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			b = append(b, part...)
			continue
		}
		var more []byte
		if hex := strings.ReplaceAll(part, " ", ""); hex != "" {
			if _, err := fmt.Sscanf(hex, "%x", &more); err != nil {
				return nil, fmt.Errorf("%q: %w", part, err)
			}
		}
		b = append(b, more...)
	}
	return b, nil
}

func (c *rawClient) wantERR(num uint16, state string) {
	c.t.Helper()
	p := c.read()
	if len(p) < 10 || p[0] != 0xff || binary.LittleEndian.Uint16(p[1:]) != num || string(p[3:9]) != "#"+state {
		c.t.Fatalf("packet %q, want error %d/%s with a message", p, num, state)
	}
}

func (c *rawClient) wantClosed() {
	c.t.Helper()
	if p, err := c.tryRead(); !errors.Is(err, io.EOF) {
		c.t.Fatalf("packet %q, %v; want the end", p, err)
	}
}

func TestGreeting(t *testing.T) {
	c := dialRaw(t, startServer(t, nil, func(s *session.Server) { s.Version = "8.0.99" }))
	g := c.read()
	if !bytes.HasPrefix(g, []byte("\x0a8.0.99\x00\x01\x00\x00\x00")) || len(g) != 1+7+4+9+2+1+2+2+1+10+13+22 {
		t.Fatalf("greeting of %d bytes: %q", len(g), g)
	}
	rest := g[12:]
	if bytes.IndexByte(rest[:8], 0) >= 0 || rest[8] != 0 {
		t.Errorf("nonce: % x", rest[:9])
	}
	if got, want := fmt.Sprintf("% x", rest[9:17]), "8f a2 2d 02 00 38 01 15"; got != want {
		t.Errorf("capabilities, charset, status, length: %s, want %s", got, want)
	}
	if !bytes.HasSuffix(g, []byte("\x00mysql_native_password\x00")) {
		t.Errorf("plugin: %q", g)
	}
}

const (
	defN = "03'def' 00 00 00 01'n' 00 0c 3f00 14000000 08 0000 00 0000"
	defS = "03'def' 00 00 00 01's' 00 0c 2d00 fc030000 fc 1000 00 0000"
)

func TestTextResultInBothEndStyles(t *testing.T) {
	ts := startServer(t, nil, nil)
	plain := dialRaw(t, ts)
	plain.login(capsPlain)
	plain.command("\x03rows 2 3;")
	plain.want("02", defN, defS, "fe 0000 0200", "01'0' 03'xxx'", "01'1' 03'xxx'", "fe 0000 0200")

	dep := dialRaw(t, ts)
	dep.login(capsDEP)
	dep.command("\x03rows 2 3")
	dep.want("02", defN, defS, "01'0' 03'xxx'", "01'1' 03'xxx'", "fe 00 00 0200 0000 00")
	dep.command("\x03insert")
	dep.want("00 03 00 0200 0000 0a'Records: 3'")
	dep.command("\x03set autocommit")
	dep.want("00 00 00 0000 0000 00")
	dep.command("\x03warn")
	dep.want("00 00 00 0000 0100 00")
}

func TestPreparedPackets(t *testing.T) {
	ts := startServer(t, nil, nil)
	const defParam = "03'def' 00 00 00 01'?' 00 0c 3f00 00000000 fd 0000 00 0000"
	c := dialRaw(t, ts)
	c.login(capsPlain)
	c.command("\x16rows 1 2 -- ?") // the mark is in a comment
	c.want("00 01000000 0200 0000 00 0000", defN, defS, "fe 0000 0200")
	c.command("\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00")
	c.want("02", defN, defS, "fe 0000 0200", "00 00 0000000000000000 02'xx'", "fe 0000 0200")

	c.command("\x16insert ?, ?")
	c.want("00 02000000 0000 0200 00 0000", defParam, defParam, "fe 0000 0200")
	c.command("\x17\x02\x00\x00\x00\x00\x01\x00\x00\x00\x01\x01\x08\x00\x01\x00\x07") // NULL and a TINY
	c.want("00 03 00 0200 0000 0a'Records: 3'")

	d := dialRaw(t, ts)
	d.login(capsDEP)
	d.command("\x16insert ?")
	d.want("00 01000000 0000 0100 00 0000", defParam)
	d.command("\x19\x01\x00\x00\x00") // close has no answer
	d.command("\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00")
	d.wantERR(1243, "HY000")
}

func TestParameterTypesAreKept(t *testing.T) {
	c := dialRaw(t, startServer(t, nil, nil))
	c.login(capsDEP)
	c.command("\x16echo ?, ?")
	for range 1 + 2 + 1 {
		c.read()
	}
	execute := "\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00"
	c.command(execute + "\x00\x00\x05\x00\x00\x00\x01x") // no types yet
	c.wantERR(1210, "HY000")
	c.command(execute + "\x00\x01\x02\x80\xfd\x00" + "\xff\xff\x01x")
	c.readRow("00 00 07'2:65535' 03'5:x'")
	c.command(execute + "\x00\x00" + "\x01\x00\x01y")
	c.readRow("00 00 03'2:1' 03'5:y'")
	c.command("\x18\x01\x00\x00\x00\x01\x00lo")
	c.command("\x18\x01\x00\x00\x00\x01\x00ng")
	c.command(execute + "\x00\x00" + "\x02\x00")
	c.readRow("00 00 03'2:2' 06'5:long'")
	c.command(execute + "\x02\x00" + "\x03\x00") // long data is used once
	c.readRow("00 08 03'2:3'")
	c.command("\x18\x01\x00\x00\x00\x09\x00x")
	c.command(execute + "\x02\x00" + "\x03\x00")
	c.wantERR(1210, "HY000")
	c.command("\x1a\x01\x00\x00\x00")
	c.want("00 00 00 0200 0100 00")
}

// readRow reads a result of two columns and one row.
func (c *rawClient) readRow(row string) {
	c.t.Helper()
	c.want("02")
	c.read()
	c.read()
	c.want(row, "fe 00 00 0200 0000 00")
}

func TestCursor(t *testing.T) {
	for _, tt := range []struct {
		caps                     uint32
		open, more, last, noRows string
	}{
		{capsPlain, "fe 0000 4200", "fe 0000 4200", "fe 0000 8200", ""},
		{capsDEP, "fe 00 00 4200 0000 00", "fe 00 00 4200 0000 00", "fe 00 00 8200 0000 00", ""},
	} {
		c := dialRaw(t, startServer(t, nil, nil))
		c.login(tt.caps)
		prepared := 3
		if tt.caps == capsPlain {
			prepared = 4
		}
		for i, n := range []string{"0", "1", "100"} {
			id := string(rune('\x01' + i))
			c.command("\x16rows " + n + " 1")
			for range prepared {
				c.read()
			}
			c.command("\x17" + id + "\x00\x00\x00\x01\x01\x00\x00\x00")
			c.want("02", defN, defS, tt.open)
		}
		fetch := func(id, n string) { c.command("\x1c" + id + "\x00\x00\x00" + n + "\x00\x00\x00") }
		fetch("\x01", "\x05")
		c.want(tt.last)
		fetch("\x01", "\x05")
		c.wantERR(1421, "HY000")
		fetch("\x02", "\x01")
		c.want("00 00 0000000000000000 01'x'", tt.more)
		fetch("\x02", "\x01")
		c.want(tt.last)
		fetch("\x03", "\x02")
		c.want("00 00 0000000000000000 01'x'", "00 00 0100000000000000 01'x'", tt.more)
		c.command("\x0e") // other commands go on meanwhile
		c.read()
		fetch("\x03", "\x62") // 98 more
		for range 98 {
			c.read()
		}
		c.want(tt.more)
		fetch("\x03", "\x01")
		c.want(tt.last)
	}
}

func TestCursorOfAFailingStatementAndLeftOpen(t *testing.T) {
	ts := startServer(t, nil, nil)
	c := dialRaw(t, ts)
	c.login(capsDEP)
	c.command("\x16failing")
	c.read()
	c.read()
	c.command("\x17\x01\x00\x00\x00\x01\x01\x00\x00\x00")
	c.read()
	c.read()
	c.want("fe 00 00 4200 0000 00")
	c.command("\x1c\x01\x00\x00\x00\x05\x00\x00\x00")
	c.want("00 00 01'1'")
	c.wantERR(1054, "42S22")

	c.command("\x16hang")
	c.read()
	c.read()
	c.command("\x17\x02\x00\x00\x00\x01\x01\x00\x00\x00")
	<-ts.hanging
	c.read()
	c.read()
	c.want("fe 00 00 4200 0000 00")
	c.command("\x19\x02\x00\x00\x00")
	if err := <-ts.ended; err == nil {
		t.Error("closing a statement did not end its cursor")
	}
	c.command("\x0e")
	c.want("00 00 00 0200 0000 00")
}

func TestCommands(t *testing.T) {
	c := dialRaw(t, startServer(t, nil, nil))
	c.login(capsDEP)
	c.command("\x02shop")
	c.want("00 00 00 0200 0000 00")
	c.command("\x02nowhere")
	c.wantERR(1049, "42000")
	c.command("\x04t\x00")
	c.want("03'def' 00 00 00 02'id' 00 0c 3f00 0b000000 03 0000 00 0000 fb",
		"03'def' 00 00 00 04'name' 00 0c 2d00 fc030000 fc 1000 00 0000 fb", "fe 00 00 0200 0100 00")
	c.command("\x04t\x00n%")
	c.want("03'def' 00 00 00 04'name' 00 0c 2d00 fc030000 fc 1000 00 0000 fb", "fe 00 00 0200 0100 00")
	c.command("\x04zzz\x00")
	c.wantERR(1146, "42S02")
	c.command("\x09")
	if s := string(c.read()); !strings.HasPrefix(s, "Uptime: 0  Threads: 1  Questions: 6  ") {
		t.Errorf("statistics: %q", s)
	}
	c.command("\x1b\x01\x00")
	c.want("fe 00 00 0200 0200 00")
	c.command("\x1b\x00\x00")
	c.wantERR(1235, "42000")
	c.command("\x16insert")
	c.read()
	c.command("\x1f")
	c.want("00 00 00 0200 0000 00")
	c.command("\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00")
	c.wantERR(1243, "HY000")
	for _, unknown := range []string{"\x05", "\x0a", "\x0d", "\x12", "\xfa", "\xff"} {
		c.command(unknown)
		c.wantERR(1047, "08S01")
	}
	for _, malformed := range []string{"", "\x17\x01", "\x1c", "\x1b", "\x0c\x01", "\x1a\x00"} {
		c.command(malformed)
		c.wantERR(1835, "HY000")
	}
	c.command("\x0c\x63\x00\x00\x00")
	c.wantERR(1094, "HY000")
	c.command("\x01")
	c.wantClosed()
}

func TestMalformedExecute(t *testing.T) {
	c := dialRaw(t, startServer(t, nil, nil))
	c.login(capsDEP)
	c.command("\x16insert ?")
	c.read()
	c.read()
	execute := "\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00"
	for _, tail := range []string{"", "\x00", "\x00\x01", "\x00\x01\x08", "\x00\x01\x08\x00\x01", "\x00\x01\xfd\x00\x05abc", "\x00\x01\x0a\x00\x05abcde", "\x00\x01\xfd\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff"} {
		c.command(execute + tail)
		c.wantERR(1835, "HY000")
	}
	c.command(execute + "\x00\x01\x63\x00\x01")
	c.wantERR(1210, "HY000")
	c.command(execute + "\x00\x01\xf6\x00\x031;2")
	c.wantERR(1292, "22007")
	c.command(execute + "\x00\x01\x01\x00\x01")
	c.want("00 03 00 0200 0000 0a'Records: 3'")
}

// TestCapabilitiesThatWereNotOffered: for each bit, a client that claims it
// without having been offered it is served as if it had not.
func TestCapabilitiesThatWereNotOffered(t *testing.T) {
	const offered = 0x0138a28f
	ts := startServer(t, nil, nil)
	for bit := range 32 {
		if offered&(1<<bit) != 0 {
			continue
		}
		c := dialRaw(t, ts)
		c.read()
		// All that is offered, with database, plugin and attributes.
		c.write(loginBytes(offered|1<<bit, "root", "\x00shop\x00mysql_native_password\x00\x06\x01k\x03val"))
		c.want("00 00 00 0200 0000 00")
		c.command("\x03rows 1 1")
		c.want("02", defN, defS, "01'0' 01'x'", "fe 00 00 0200 0000 00")
		c.command("\x03rows 1 1; rows 1 1")
		c.read()
	}
}

func TestBadLogins(t *testing.T) {
	ts := startServer(t, nil, nil)
	for name, tt := range map[string]struct {
		payload []byte
		num     uint16
		state   string
	}{
		"empty":      {nil, 1251, "08004"},
		"before 4.1": {[]byte("\x05\xa0\x00\x00\x00root\x00"), 1251, "08004"},
		"short":      {loginBytes(capsPlain, "root", "")[:20], 1043, "08S01"},
		"no auth":    {loginBytes(capsPlain, "root", ""), 1043, "08S01"},
		"no user":    {loginBytes(capsPlain, "", "\x00"), 1045, "28000"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialRaw(t, ts)
			c.read()
			c.write(tt.payload)
			c.wantERR(tt.num, tt.state)
			c.wantClosed()
		})
	}
}

func TestCachingSHA2First(t *testing.T) {
	once := sha256.Sum256([]byte("sesame"))
	twice := sha256.Sum256(once[:])
	ts := startServer(t, accounts{"u": {SHA2: twice[:], Native: make([]byte, 20)}, "old": {Native: make([]byte, 20)}}, nil)
	const caps = 0x0138a20f
	begin := func(user string) (c *rawClient, nonce []byte) {
		c = dialRaw(t, ts)
		g := c.read()
		nonce = append(bytes.Clone(g[12:20]), g[len(g)-35:len(g)-23]...)
		c.write(loginBytes(caps, user, "\x00\x00caching_sha2_password\x00\x00"))
		return c, nonce
	}
	request := func(plugin string, nonce []byte) []byte {
		return append(append([]byte("\xfe"+plugin+"\x00"), nonce...), 0)
	}

	for _, empty := range []string{"", "\x00"} {
		c, nonce := begin("root")
		if got := c.read(); !bytes.Equal(got, request("caching_sha2_password", nonce)) {
			t.Fatalf("switch: %q", got)
		}
		c.write([]byte(empty))
		c.want("00 00 00 0200 0000 00")
	}
	for _, right := range []bool{true, false} {
		c, nonce := begin("u")
		c.read()
		mask := sha256.Sum256(append(bytes.Clone(twice[:]), nonce...))
		scramble := make([]byte, 32)
		subtle.XORBytes(scramble, once[:], mask[:])
		if right {
			c.write(scramble)
			c.want("01 03", "00 00 00 0200 0000 00")
			continue
		}
		scramble[0]++
		c.write(scramble)
		c.wantERR(1045, "28000")
	}
	c, nonce := begin("old") // has no hash for this method
	if got := c.read(); !bytes.Equal(got, request("mysql_native_password", nonce)) {
		t.Fatalf("switch: %q", got)
	}
}

func TestChangeUser(t *testing.T) {
	ts := startServer(t, accounts{"second": {}}, nil)
	c := dialRaw(t, ts)
	c.login(0x0138a20f &^ (1<<3 | 1<<20 | 1<<19 | 1<<21))
	c.command("\x16insert")
	c.read()
	c.command("\x03set autocommit")
	c.read()
	c.command("\x11second\x00\x00db2\x00\x2d\x00mysql_native_password\x00")
	c.want("00 00 00 0200 0000 00")
	c.command("\x03session")
	for range 4 {
		c.read()
	}
	c.want("03'db2' 06'second' 01'1'", "fe 00 00 0200 0000 00")
	c.command("\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00")
	c.wantERR(1243, "HY000")
	c.command("\x11third\x00\x00\x00\x2d\x00")
	c.wantERR(1045, "28000")
	c.wantClosed()
}

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
