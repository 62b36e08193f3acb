package nodetls

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"shoal/internal/atomicfile"
)

// TokenFile lies beside a node's certificate, and beside the authority's. It may
// be missing.
const TokenFile = "cluster.token"

// tokenKey is the name of a token in a call's metadata.
const tokenKey = "shoal-cluster-token"

// minToken is the fewest characters that are taken for a secret, maxToken the
// most.
const minToken, maxToken = 16, 4096

// A Token is a secret that all nodes of a cluster share; the zero Token is none.
// It tells clusters apart that have one authority or, on loopback, none. It is
// credentials.PerRPCCredentials, and never shows in logs.
type Token struct{ secret string }

// ReadToken reads a token's file, which only its owner may be able to read. One
// that is missing from a folder of certificates is no token and no error.
func ReadToken(path string) (Token, error) {
	content, err := readKey(path)
	if err != nil {
		return Token{}, err
	}
	secret := strings.TrimSpace(string(content))
	printable := strings.IndexFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	if len(secret) < minToken || len(secret) > maxToken || !printable {
		return Token{}, fmt.Errorf("%s: a token is one line of at least %d ASCII characters without blanks", path, minToken)
	}
	return Token{secret}, nil
}

// TokenIn reads the token of a folder of certificates, none if it has none.
func TokenIn(dir string) (Token, error) {
	path := filepath.Join(dir, TokenFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return Token{}, nil
	}
	return ReadToken(path)
}

// makeToken writes a new token.
func makeToken(path string) (Token, error) {
	t := Token{rand.Text() + rand.Text()}
	return t, t.write(path)
}

func (t Token) write(path string) error { return atomicfile.Write(path, []byte(t.secret+"\n")) }

// IsNone tells whether there is no token.
func (t Token) IsNone() bool { return t.secret == "" }

// Admits tells whether a call's metadata has this token. No token admits all.
func (t Token) Admits(metadata map[string][]string) bool {
	if t.IsNone() {
		return true
	}
	sent := metadata[tokenKey]
	return len(sent) == 1 && subtle.ConstantTimeCompare([]byte(sent[0]), []byte(t.secret)) == 1
}

// WriteTo writes the token on a connection that is not gRPC's.
func (t Token) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(t.secret))), t.secret...))
	return int64(n), err
}

// AdmitsFrom tells whether what WriteTo wrote on a connection is this token. No
// token admits all.
func (t Token) AdmitsFrom(r io.Reader) (bool, error) {
	size := make([]byte, 2)
	if _, err := io.ReadFull(r, size); err != nil {
		return false, err
	}
	sent := make([]byte, binary.BigEndian.Uint16(size))
	if _, err := io.ReadFull(r, sent); err != nil {
		return false, err
	}
	return t.Admits(map[string][]string{tokenKey: {string(sent)}}), nil
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (t Token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{tokenKey: t.secret}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: in clear a
// connection does not leave the machine.
func (t Token) RequireTransportSecurity() bool { return false }

// String hides the token.
func (t Token) String() string {
	if t.IsNone() {
		return "none"
	}
	return "******"
}

// GoString hides the token.
func (t Token) GoString() string { return t.String() }

// LogValue hides the token.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// tokenOf is the token of an authority's folder, none if it has none. A new
// authority gets one, and every other when it is asked for: a token that came by
// itself would part nodes that have it already from those that have it not yet.
func tokenOf(dir string, fresh bool) (Token, error) {
	path := filepath.Join(dir, TokenFile)
	if fresh {
		return makeToken(path)
	}
	return TokenIn(dir)
}

// give writes the token into a node's folder, or takes away an old one.
func (t Token) give(dir string) error {
	path := filepath.Join(dir, TokenFile)
	if !t.IsNone() {
		return t.write(path)
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
