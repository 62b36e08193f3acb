package wire

import (
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"

	"shoal/fe/errno"
)

// The login methods. The greeting announces the first; a client that knows
// only the second says so and is switched to it.
const (
	nativePassword = "mysql_native_password"
	cachingSHA2    = "caching_sha2_password"
)

const nonceSize = 20

// headerMoreData begins a message of the login method itself.
const headerMoreData = 0x01

// fastAuthOK is caching_sha2_password's word for "the scramble was right".
const fastAuthOK = 0x03

// newNonce is fresh random bytes without zero, which ends it on the wire, and
// without '$', which separates fields in MySQL's own files.
func newNonce() []byte {
	nonce := make([]byte, nonceSize)
	// Since Go 1.24 this never fails: it ends the process instead.
	_, _ = rand.Read(nonce)
	for i := range nonce {
		nonce[i] &= 0x7f
		if nonce[i] == 0 || nonce[i] == '$' {
			nonce[i]++
		}
	}
	return nonce
}

// authenticate checks a user's scramble, made by the method plugin for the
// greeting's nonce. It may ask for one by another method. The error is 1045.
func (c *conn) authenticate(user, plugin string, scramble []byte) error {
	account, known := c.server.Accounts.Account(user, c.host)
	method := c.method(plugin, account, known)
	if method != plugin && c.caps.has(capPluginAuth) || method == cachingSHA2 {
		var err error
		if scramble, err = c.switchMethod(method); err != nil {
			return err
		}
	}
	if method == cachingSHA2 && len(scramble) == 1 && scramble[0] == 0 {
		scramble = nil // how some clients spell the empty password
	}
	if !account.accepts(method, c.nonce, scramble) || !known {
		using := "NO"
		if len(scramble) > 0 {
			using = "YES"
		}
		return errno.New(errno.AccessDenied, "Access denied for user '%.80s'@'%s' (using password: %s)", user, c.host, using)
	}
	if method == cachingSHA2 && len(scramble) > 0 {
		c.out.send([]byte{headerMoreData, fastAuthOK})
	}
	return nil
}

// method is the one to use with a client that began with plugin. The sha2
// method needs its own hash: without one, the client is asked for native.
func (c *conn) method(plugin string, account Account, known bool) string {
	if !c.caps.has(capPluginAuth) || plugin != cachingSHA2 {
		return nativePassword
	}
	if known && len(account.Native) > 0 && len(account.SHA2) == 0 {
		return nativePassword
	}
	return cachingSHA2
}

// switchMethod asks for a scramble by another method, for the same nonce.
func (c *conn) switchMethod(method string) ([]byte, error) {
	request := append([]byte{headerEOF}, method...)
	request = append(request, 0)
	request = append(append(request, c.nonce...), 0)
	c.out.send(request)
	if err := c.flush(); err != nil {
		return nil, err
	}
	p, err := c.awaitPacket()
	if err != nil {
		return nil, err
	}
	c.out.seq = p.next
	return p.payload, nil
}

// accepts tells whether a scramble proves that the client knows the password.
func (a Account) accepts(method string, nonce, scramble []byte) bool {
	switch {
	case len(a.Native) == 0 && len(a.SHA2) == 0:
		return len(scramble) == 0
	case method == cachingSHA2:
		return proves(scramble, a.SHA2, sum256(a.SHA2, nonce), sum256)
	}
	return proves(scramble, a.Native, sum1(nonce, a.Native), sum1)
}

// proves undoes a scramble: it is hash(password) under a mask, and the hash of
// that must be the stored one.
func proves(scramble, stored, mask []byte, hash func(...[]byte) []byte) bool {
	if len(scramble) != len(mask) || len(stored) != len(mask) {
		return false
	}
	once := make([]byte, len(mask))
	subtle.XORBytes(once, scramble, mask)
	return subtle.ConstantTimeCompare(hash(once), stored) == 1
}

func sum1(parts ...[]byte) []byte {
	h := sha1.New()
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

func sum256(parts ...[]byte) []byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}
