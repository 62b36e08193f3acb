package wire

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"shoal/fe/errno"
	"shoal/fe/session"
)

// A loginPacket is the client's answer to the greeting.
type loginPacket struct {
	caps       capability // what the client claims
	user, db   string
	plugin     string
	scramble   []byte
	attributes map[string]string
}

// login greets, checks the password, then selects the database. The error is
// for the log: the client has been told.
func (c *conn) login() error {
	if err := c.net.SetReadDeadline(time.Now().Add(loginTimeout)); err != nil {
		return err
	}
	c.nonce = newNonce()
	c.out.send(c.appendGreeting(nil))
	if err := c.flush(); err != nil {
		return err
	}
	p, err := c.in.read()
	if err != nil {
		return err
	}
	c.out.seq = p.next
	login, err := parseLogin(p.payload)
	if err == nil {
		err = c.enter(login)
	}
	if err != nil {
		c.putERR(err)
		// The flush may fail too; the first error says more.
		_ = c.flush()
		return fmt.Errorf("user %q: %w", login.user, err)
	}
	c.putOK(0, "")
	c.in.limit = int(c.server.Globals.Server().MaxAllowedPacket)
	if err := c.net.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return c.flush()
}

// enter makes the session of a client that may log in.
func (c *conn) enter(login loginPacket) error {
	c.caps = login.caps & offered
	if err := c.authenticate(login.user, login.plugin, login.scramble); err != nil {
		return err
	}
	c.session = session.New(c.process.ID(), login.user, c.host, c.server.Globals)
	c.session.Attributes, c.session.Progress = login.attributes, c.process.Progress
	c.process.Identify(login.user)
	if login.db == "" {
		return nil
	}
	return c.use(c.ctx, login.db)
}

// appendGreeting appends the first packet, protocol version 10.
func (c *conn) appendGreeting(b []byte) []byte {
	b = append(b, 10)
	b = append(append(b, c.server.Globals.Server().Version...), 0)
	b = binary.LittleEndian.AppendUint32(b, c.process.ID())
	b = append(append(b, c.nonce[:8]...), 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(offered&0xffff))
	b = append(b, byte(charsetUTF8MB4))
	b = binary.LittleEndian.AppendUint16(b, session.StatusAutocommit)
	b = binary.LittleEndian.AppendUint16(b, uint16(offered>>16))
	b = append(b, byte(len(c.nonce)+1))
	b = append(b, make([]byte, 10)...)
	b = append(append(b, c.nonce[8:]...), 0)
	return append(append(b, nativePassword...), 0)
}

// parseLogin reads the login packet by the capabilities in force: those that
// the client claims and the greeting offered.
func parseLogin(payload []byte) (loginPacket, error) {
	d := decoder{rest: payload}
	if len(payload) < 2 || !capability(binary.LittleEndian.Uint16(payload)).has(capProtocol41) {
		return loginPacket{}, errno.New(errno.NotSupportedAuth, "Client does not support authentication protocol requested by server; consider upgrading MySQL client")
	}
	login := loginPacket{caps: capability(d.uint32())}
	caps := login.caps & offered
	d.uint32()  // its largest packet: ours are split anyway
	d.uint8()   // collation: text is UTF-8 whatever it says
	d.bytes(23) // reserved
	login.user = d.nulString()
	login.scramble = parseScramble(&d, caps)
	if caps.has(capConnectWithDB) {
		login.db = d.nulString()
	}
	if caps.has(capPluginAuth) {
		login.plugin = d.nulString()
	}
	if d.failed {
		return login, errno.New(errno.Handshake, "Bad handshake")
	}
	if caps.has(capConnectAttrs) {
		login.attributes = parseAttributes(&d)
	}
	return login, nil
}

func parseScramble(d *decoder, caps capability) []byte {
	switch {
	case caps.has(capPluginLenEnc):
		return d.lenEncBytes()
	case caps.has(capSecureConn):
		return d.bytes(uint64(d.uint8()))
	}
	return []byte(d.nulString())
}

// parseAttributes reads the client's words about itself. They are only shown,
// so broken ones are left out rather than refused.
func parseAttributes(d *decoder) map[string]string {
	attributes := make(map[string]string)
	inner := decoder{rest: d.lenEncBytes()}
	for len(inner.rest) > 0 {
		key, value := inner.lenEncBytes(), inner.lenEncBytes()
		if inner.failed {
			break
		}
		attributes[string(key)] = strings.ToValidUTF8(string(value), "\uFFFD")
	}
	return attributes
}
