package wire_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"testing"

	"shoal/fe/session"
)

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
