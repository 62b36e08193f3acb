package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"shoal/fe/backup"
	"shoal/fe/credentials"
	"shoal/fe/raftstore"
	"shoal/fe/seal"
	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// SaveFolder writes a snapshot of what the data folder of a frontend holds that
// does not run: what no majority had with it (raftstore.Read).
func SaveFolder(w io.Writer, dataDir string) error {
	s, err := raftstore.Read(filepath.Join(dataDir, raftFolder), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return backup.Write(w, s)
}

// RestoreConfig says what a cluster is restored from.
type RestoreConfig struct {
	// Snapshot is the file that was saved, Key a copy of the key that a frontend
	// of the cluster had in its data folder; without one it is put there later.
	Snapshot, Key string
	// DataDir is the new frontend's folder, which must not be there.
	DataDir string
	// RaftAddr is where other frontends reach it, by default.
	RaftAddr string
	// Now is when the new incarnation begins.
	Now    time.Time
	Logger *slog.Logger
}

// Restored is what a cluster was restored to.
type Restored struct {
	Cluster *raftlogv1.Cluster
	// Applied is the log index that the state was saved at.
	Applied uint64
	// NeedsKey is why the frontend will not serve until it has the cluster's key,
	// nil if it has it or nothing is sealed.
	NeedsKey error
}

// Restore makes the data folder of a new frontend, which is the only one of a new
// incarnation of a cluster: the one that a snapshot was saved of. Nothing runs,
// and no process of the cluster may be asked. If it fails the folder is not
// there.
func Restore(cfg RestoreConfig) (Restored, error) {
	s, err := backup.Open(cfg.Snapshot)
	if err != nil {
		return Restored{}, err
	}
	info := s.ClusterInfo()
	if info == nil {
		return Restored{}, errors.New("the snapshot is of a frontend that has no cluster yet")
	}
	if _, err := os.Stat(cfg.DataDir); !errors.Is(err, os.ErrNotExist) {
		return Restored{}, fmt.Errorf("%s is there already: a cluster is restored into a folder of its own, and the old one is kept until all is well", cfg.DataDir)
	}
	s.Revive(max(info.Incarnation+1, uint64(cfg.Now.Unix())), cfg.Now.UnixMilli(), "the cluster was restored from a snapshot")
	made := cfg.DataDir + ".restoring"
	if err := os.RemoveAll(made); err != nil {
		return Restored{}, err
	}
	out := Restored{Cluster: s.ClusterInfo(), Applied: s.Applied()}
	if out.NeedsKey, err = cfg.furnish(made, s); err == nil {
		err = os.Rename(made, cfg.DataDir)
	}
	if err != nil {
		return Restored{}, errors.Join(err, os.RemoveAll(made))
	}
	return out, nil
}

// furnish puts log, key and identity into a folder.
func (cfg RestoreConfig) furnish(dir string, s *state.State) (needsKey, err error) {
	id := self{FrontendID: newFrontendID(), ClusterID: s.ClusterInfo().ClusterId, Begun: true}
	if err := raftstore.Plant(filepath.Join(dir, raftFolder), id.FrontendID, cfg.RaftAddr, s, cfg.Logger); err != nil {
		return nil, err
	}
	sealer := seal.New(dir)
	used := credentials.New(fixed{s}, sealer).SealedWith()
	switch {
	case cfg.Key != "":
		key, err := seal.ReadKey(cfg.Key)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(sealer.Take(key), sealer.Unlock(used)); err != nil {
			return nil, err
		}
	case len(used) > 0:
		needsKey = fmt.Errorf("passwords and files of this cluster are sealed with key %s, which a snapshot does not hold: copy cluster.key of one of its frontends to %s, mode 0600, before this one starts",
			used[0], filepath.Join(cfg.DataDir, "cluster.key"))
	}
	return needsKey, writeIdentity(dir, id)
}

// fixed is a state that nobody changes.
type fixed struct{ *state.State }

// View implements credentials.Store.
func (f fixed) View(read func(*state.State)) { read(f.State) }
