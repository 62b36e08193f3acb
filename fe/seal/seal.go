// Package seal keeps secrets out of the replicated log in clear: what is
// sealed here can be read only with the cluster's key.
//
// The key is a file in the frontend's data folder, beside the log and never in
// it: whoever has a copy of the log or of a snapshot has no secret. It is made
// when the cluster is, given to each frontend that joins, and belongs to the
// cluster for ever; without it, what it sealed is lost, and the frontend says so
// instead of starting. Secrets are sealed by
// AES-256-GCM under a random nonce, together with what they are for, so that
// one sealed value cannot stand in the place of another. A sealed text names
// its key by an id that tells nothing of it.
//
// A Sealer is safe for concurrent use and starts nothing.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"shoal/internal/atomicfile"
)

const (
	// keyFile is the name of the key's file, and keyWord how its content begins.
	keyFile = "cluster.key"
	keyWord = "shoal-cluster-key-v1 "
	keySize = 32

	// prefix begins every sealed text: sealed:v1:<key id>:<nonce and ciphertext
	// in base64>.
	prefix = "sealed:v1:"
)

// ErrLocked is for a Sealer without a key yet: its frontend has not served.
var ErrLocked = errors.New("the cluster's key is not known here yet")

// A Sealer seals and opens with the key of one data folder.
type Sealer struct {
	path string

	mu   sync.RWMutex
	aead cipher.AEAD // nil until Unlock
	id   string
}

// New is a Sealer for a data folder. It reads nothing yet.
func New(dataDir string) *Sealer { return &Sealer{path: filepath.Join(dataDir, keyFile)} }

// Unlock reads the key. used are the ids of the keys that the replicated state
// was sealed with: only where there are none, the key may be missing and one is
// made. The error says what is wrong with which file and what to do.
func (s *Sealer) Unlock(used []string) error {
	key, err := s.read()
	if errors.Is(err, fs.ErrNotExist) {
		if len(used) > 0 {
			return fmt.Errorf("%s is missing: passwords and files of this cluster are sealed with key %s; restore it from a copy of the data folder", s.path, used[0])
		}
		key, err = s.make()
	}
	if err != nil {
		return err
	}
	id := idOf(key)
	if i := slices.IndexFunc(used, func(other string) bool { return other != id }); i >= 0 {
		return fmt.Errorf("%s is another cluster's: it holds key %s, and passwords and files of this cluster are sealed with key %s; restore it from a copy of the data folder", s.path, id, used[i])
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.aead, s.id = aead, id
	return nil
}

// ReadKey reads a copy of a cluster's key, which nobody else may be able to read.
func ReadKey(path string) ([]byte, error) { return (&Sealer{path: path}).read() }

// Key is the cluster's key, for a frontend that joins: to be sent to nodes of
// the cluster only, and kept by Take.
func (s *Sealer) Key() ([]byte, error) { return s.read() }

// Take keeps a key that another frontend gave, durably. One that is there must
// be the same.
func (s *Sealer) Take(key []byte) error {
	if len(key) != keySize {
		return fmt.Errorf("the cluster's key has %d bytes, not %d", len(key), keySize)
	}
	switch old, err := s.read(); {
	case errors.Is(err, fs.ErrNotExist):
		return s.write(key)
	case err != nil:
		return err
	case idOf(old) != idOf(key):
		return fmt.Errorf("%s holds key %s, and the cluster's is %s: give the frontend an empty data folder to join", s.path, idOf(old), idOf(key))
	}
	return nil
}

// read reads the key's file, which nobody else may be able to.
func (s *Sealer) read() ([]byte, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, fmt.Errorf("the cluster's key: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s may be read by others (mode %o): chmod 600 it", s.path, info.Mode().Perm())
	}
	content, err := os.ReadFile(s.path)
	if err != nil {
		return nil, fmt.Errorf("the cluster's key: %w", err)
	}
	text, found := strings.CutPrefix(strings.TrimSpace(string(content)), keyWord)
	key, err := base64.StdEncoding.DecodeString(text)
	if !found || err != nil || len(key) != keySize {
		return nil, fmt.Errorf("%s is not a cluster's key: restore it from a copy of the data folder", s.path)
	}
	return key, nil
}

func (s *Sealer) make() ([]byte, error) {
	key := make([]byte, keySize)
	rand.Read(key)
	return key, s.write(key)
}

func (s *Sealer) write(key []byte) error {
	// A file that atomicfile makes is its owner's alone.
	if err := atomicfile.Write(s.path, []byte(keyWord+base64.StdEncoding.EncodeToString(key)+"\n")); err != nil {
		return fmt.Errorf("the cluster's key: %w", err)
	}
	return nil
}

// idOf names a key.
func idOf(key []byte) string {
	sum := sha256.Sum256(append([]byte("shoal key id "), key...))
	return hex.EncodeToString(sum[:4])
}

// Seal seals a secret for a purpose, without which it cannot be opened.
func (s *Sealer) Seal(secret []byte, purpose string) (string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.aead == nil {
		return "", ErrLocked
	}
	nonce := make([]byte, s.aead.NonceSize())
	rand.Read(nonce)
	sealed := s.aead.Seal(nonce, nonce, secret, []byte(purpose))
	return prefix + s.id + ":" + base64.StdEncoding.EncodeToString(sealed), nil
}

// Open is the secret of a sealed text. Errors do not quote it.
func (s *Sealer) Open(sealed, purpose string) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	id := KeyID(sealed)
	switch {
	case s.aead == nil:
		return nil, ErrLocked
	case id != s.id:
		return nil, fmt.Errorf("it is sealed with key %s, and the cluster's is %s", id, s.id)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(sealed[len(prefix)+len(id)+1:])
	if err != nil || len(data) < s.aead.NonceSize() {
		return nil, errors.New("the sealed text is damaged")
	}
	nonce, ciphertext := data[:s.aead.NonceSize()], data[s.aead.NonceSize():]
	secret, err := s.aead.Open(nil, nonce, ciphertext, []byte(purpose))
	if err != nil {
		return nil, errors.New("the sealed text is damaged, or was sealed for something else")
	}
	return secret, nil
}

// KeyID is the id of the key that a text is sealed with, empty for a text that
// is not sealed.
func KeyID(text string) string {
	rest, found := strings.CutPrefix(text, prefix)
	id, _, whole := strings.Cut(rest, ":")
	if !found || !whole {
		return ""
	}
	return id
}
