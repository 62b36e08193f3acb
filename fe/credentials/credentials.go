// Package credentials is where the secrets of routine load jobs go into the
// replicated state and come out of it.
//
// A job is stored with the secret values of its property.* sealed (fe/seal),
// and a file of CREATE FILE with its content sealed. Nobody opens them but who
// makes a Kafka client, here or on a backend: Open is called for that, at the
// last moment, and what it returns is neither stored, shown nor logged. ALTER
// alone unseals, and seals again what it made.
// References such as ${env:NAME} are no secrets and stay as they are; the node
// that makes the client resolves them (internal/clientprops). Values of jobs
// that older releases stored are in clear and are read as they are.
//
// A Keeper is safe for concurrent use, keeps nothing and starts nothing.
package credentials

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"shoal/fe/seal"
	"shoal/fe/state"
	"shoal/internal/clientprops"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// FileCatalog is the catalog of the files that property.* names as FILE:name,
// as in Doris.
const FileCatalog = "kafka"

// ErrNoFile is for a FILE:name that CREATE FILE has not made.
var ErrNoFile = errors.New("no such file")

// Store is the replicated state.
type Store interface{ View(f func(*state.State)) }

// A Keeper seals and opens what jobs need to reach their brokers.
type Keeper struct {
	store  Store
	sealer *seal.Sealer
}

// New makes a Keeper.
func New(store Store, sealer *seal.Sealer) *Keeper { return &Keeper{store, sealer} }

// Unlock reads the cluster's key; the state must be whole. See
// seal.Sealer.Unlock.
func (k *Keeper) Unlock() error { return k.sealer.Unlock(k.SealedWith()) }

// SealedWith is the ids of the keys that something in the state is sealed with.
func (k *Keeper) SealedWith() []string {
	used := map[string]bool{}
	k.store.View(func(st *state.State) {
		for _, job := range st.Jobs() {
			for key, value := range job.Load.GetCustomProperties() {
				if clientprops.IsSecret(key) {
					used[seal.KeyID(value)] = true
				}
			}
		}
		for _, db := range st.Databases() {
			for _, f := range st.Files(db.Id) {
				used[seal.KeyID(string(f.Content))] = true
			}
		}
	})
	delete(used, "") // not sealed
	return slices.Sorted(maps.Keys(used))
}

// Seal is load as it may be stored: a copy with the secret values of its
// property.* sealed. Whatever the user wrote is sealed, also what looks as if
// it were already, so that nobody can have a text opened that he found.
func (k *Keeper) Seal(load *typesv1.RoutineLoad) (*typesv1.RoutineLoad, error) {
	load = proto.CloneOf(load)
	for key, value := range load.CustomProperties {
		if !clientprops.IsSecret(key) || clientprops.IsReference(value) || value == "" {
			continue
		}
		sealed, err := k.sealer.Seal([]byte(value), purposeOf(key))
		if err != nil {
			return nil, fmt.Errorf("property.%s: %w", key, err)
		}
		load.CustomProperties[key] = sealed
	}
	return load, nil
}

func purposeOf(key string) string { return "property " + key }

// Unseal is a stored load with its secrets in clear, to be changed and sealed
// again: a copy. Whatever is refused names the property and quotes no value.
func (k *Keeper) Unseal(load *typesv1.RoutineLoad) (*typesv1.RoutineLoad, error) {
	load = proto.CloneOf(load)
	for key, value := range load.CustomProperties {
		if !clientprops.IsSecret(key) || seal.KeyID(value) == "" {
			continue
		}
		secret, err := k.sealer.Open(value, purposeOf(key))
		if err != nil {
			return nil, fmt.Errorf("property.%s cannot be read: %w", key, err)
		}
		load.CustomProperties[key] = string(secret)
	}
	return load, nil
}

// Open is what a Kafka client for a stored load is made with: its property.*
// with secrets in clear, and the contents of the files that they name, by name.
// It is a kafka.Open. databaseID is the job's. The error wraps ErrNoFile for a
// file that there is not.
func (k *Keeper) Open(databaseID uint64, load *typesv1.RoutineLoad) (properties map[string]string, files map[string][]byte, err error) {
	unsealed, err := k.Unseal(load)
	if err != nil {
		return nil, nil, err
	}
	properties = unsealed.CustomProperties
	for _, name := range clientprops.Files(properties) {
		content, err := k.openFile(databaseID, name)
		if err != nil {
			return nil, nil, err
		}
		if files == nil {
			files = map[string][]byte{}
		}
		files[name] = content
	}
	return properties, files, nil
}

func (k *Keeper) openFile(databaseID uint64, name string) (content []byte, err error) {
	var file *raftlogv1.File
	k.store.View(func(st *state.State) { file = st.File(databaseID, FileCatalog, name) })
	switch {
	case file == nil:
		return nil, fmt.Errorf("FILE:%s: %w in catalog %s of the job's database; CREATE FILE makes it", name, ErrNoFile, FileCatalog)
	case !file.Sealed:
		return file.Content, nil
	}
	if content, err = k.sealer.Open(string(file.Content), purposeOfFile(file)); err != nil {
		return nil, fmt.Errorf("FILE:%s cannot be read: %w", name, err)
	}
	return content, nil
}

// SealFile is a file as it may be stored: a copy with its content sealed.
func (k *Keeper) SealFile(file *raftlogv1.File) (*raftlogv1.File, error) {
	sealed, err := k.sealer.Seal(file.Content, purposeOfFile(file))
	if err != nil {
		return nil, err
	}
	file = proto.CloneOf(file)
	file.Content, file.Sealed = []byte(sealed), true
	return file, nil
}

func purposeOfFile(f *raftlogv1.File) string {
	return fmt.Sprintf("file %d %q %q", f.DatabaseId, f.Catalog, f.Name)
}
