// Package identity keeps what a frontend or backend remembers of itself over
// restarts: a small JSON file in its data folder, written whole or not at all.
//
// A file that is there and cannot be read is an error and never taken for a
// new folder: a process that forgot who it is would be another one to its
// cluster. The package starts nothing.
package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"shoal/internal/atomicfile"
)

// An Identity is the content of a file.
type Identity interface {
	// Missing names the fields that are empty and must not be, "" for none.
	Missing() string
}

// Read reads the identity at path; not found is no error. The error names the
// file and what is wrong with it, and the caller says what to do.
func Read[T Identity](path string) (id T, found bool, err error) {
	var none T
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, false, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &id)
	}
	if missing := id.Missing(); err == nil && missing != "" {
		err = errors.New(missing + " is missing")
	}
	if err != nil {
		return none, true, fmt.Errorf("the identity in %s cannot be read (%w)", path, err)
	}
	return id, true, nil
}

// Write keeps an identity at path, durably.
func Write(path string, id Identity) error {
	content, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, content)
}
