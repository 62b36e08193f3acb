package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
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
