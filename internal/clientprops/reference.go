package clientprops

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// References are ${env:NAME} and ${file:PATH}. Only names that begin with
// envPrefix, and only files below the folder that FolderVariable names, can be
// had: a statement must not reach whatever else a node's environment and disk
// hold.
const (
	envPrefix = "SHOAL_SECRET_"
	// FolderVariable is the environment variable with the path of a node's
	// secrets folder. Without it no file can be referred to.
	FolderVariable = "SHOAL_SECRETS_DIR"
)

// maxFile is the most that is read of a file: certificates with all their
// authorities have a tenth of it.
const maxFile = 1 << 20

// IsReference tells whether a value is ${env:NAME} or ${file:PATH}, or has one
// in it, which is no secret itself.
func IsReference(value string) bool {
	return strings.Contains(value, "${env:") || strings.Contains(value, "${file:")
}

// resolve is the value itself or, for a reference, what it refers to on this
// node. A file's last newline is not part of it.
func resolve(key, value string) (string, error) {
	if !IsReference(value) {
		return value, nil
	}
	inner, begins := strings.CutPrefix(value, "${")
	inner, ends := strings.CutSuffix(inner, "}")
	kind, name, _ := strings.Cut(inner, ":")
	if !begins || !ends || strings.ContainsAny(inner, "${}") {
		return "", wrong(key, "must be one reference, ${env:NAME} or ${file:PATH}, and nothing else")
	}
	if kind == "env" {
		return fromEnvironment(key, name)
	}
	return fromFolder(key, name)
}

func fromEnvironment(key, name string) (string, error) {
	if !strings.HasPrefix(name, envPrefix) {
		return "", wrong(key, "refers to the environment variable '%.64s'; only names that begin with %s can be referred to", name, envPrefix)
	}
	value := os.Getenv(name)
	if value == "" {
		return "", wrong(key, "refers to the environment variable '%.64s', which this node does not have", name)
	}
	return value, nil
}

func fromFolder(key, path string) (string, error) {
	folder := os.Getenv(FolderVariable)
	if folder == "" {
		return "", wrong(key, "refers to a file, but this node has no secrets folder: start it with --secrets-dir or %s", FolderVariable)
	}
	within := path
	if filepath.IsAbs(path) {
		var err error
		if within, err = filepath.Rel(folder, path); err != nil {
			within = path
		}
	}
	if !filepath.IsLocal(within) {
		return "", wrong(key, "refers to '%.256s', which is not below the node's secrets folder", path)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", wrong(key, "refers to a file, but the node's secrets folder cannot be opened: %s", cause(err))
	}
	defer root.Close()
	text, err := readFile(root.FS(), filepath.ToSlash(within))
	if err != nil {
		return "", wrong(key, "refers to '%.256s' in the node's secrets folder: %s", path, cause(err))
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}

// readLocation reads what ssl.*.location names: an uploaded file or a path on
// the node.
func readLocation(key, value string, files map[string][]byte) ([]byte, error) {
	if name, ok := strings.CutPrefix(value, filePrefix); ok {
		text, ok := files[name]
		if !ok {
			return nil, wrong(key, "= '%.256s': there is no such file; upload it by CREATE FILE", value)
		}
		return text, nil
	}
	if !filepath.IsAbs(value) {
		return nil, wrong(key, "= '%.256s' is neither FILE:name, an uploaded file, nor an absolute path on the nodes", value)
	}
	text, err := readFile(os.DirFS("/"), strings.TrimPrefix(filepath.ToSlash(filepath.Clean(value)), "/"))
	if err != nil {
		return nil, wrong(key, "= '%.256s' cannot be read on this node: %s", value, cause(err))
	}
	return text, nil
}

// readFile reads a regular file; nothing else, since opening a pipe would wait
// for ever.
func readFile(folder fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(folder, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file")
	}
	file, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if len(text) > maxFile {
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	return text, err
}

// cause is an error without the path that the system puts in front.
func cause(err error) string {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
