// Package backup is the file that a saved snapshot of the replicated state is,
// and what a new cluster makes of it.
//
// The file is a line that says what it is, the stream that Raft's own snapshots
// are (fe/state), and SHA-256 of both. Whoever opens it has all of it checked
// first: what is cut off, changed, or of a newer release is refused as a whole.
// It holds no key: the passwords and files in it stay sealed (fe/seal).
//
// Everything here runs on its caller's goroutine and keeps nothing.
package backup

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"shoal/fe/state"
)

// line begins a saved snapshot.
const line = "shoal saved snapshot 1\n"

// ErrNoBackup is for files that are no saved snapshot, or not a whole one.
var ErrNoBackup = errors.New("not a saved snapshot")

// Write saves a state, which must not change meanwhile.
func Write(w io.Writer, s *state.State) error {
	sum := sha256.New()
	both := io.MultiWriter(w, sum)
	if _, err := io.WriteString(both, line); err != nil {
		return err
	}
	if err := s.WriteSnapshot(both); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

// Open reads the state that a file holds.
func Open(path string) (*state.State, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func read(f io.ReadSeeker) (*state.State, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	body := size - sha256.Size
	if body < int64(len(line)) {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrNoBackup, size)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	head := make([]byte, len(line))
	if _, err := io.ReadFull(f, head); err != nil {
		return nil, err
	}
	if string(head) != line {
		return nil, fmt.Errorf("%w: it begins with %q", ErrNoBackup, head)
	}
	sum := sha256.New()
	sum.Write(head)
	if _, err := io.CopyN(sum, f, body-int64(len(line))); err != nil {
		return nil, err
	}
	want := make([]byte, sha256.Size)
	if _, err := io.ReadFull(f, want); err != nil {
		return nil, err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return nil, fmt.Errorf("%w: its checksum is wrong, so that it was cut off or changed", ErrNoBackup)
	}
	if _, err := f.Seek(int64(len(line)), io.SeekStart); err != nil {
		return nil, err
	}
	return state.ReadSnapshot(io.LimitReader(f, body-int64(len(line))))
}
