package removal

import (
	"context"

	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
)

// empty removes trash that no frontend reads, and has the state forget it. A
// leader that dies in between leaves it to the next one, which removes it again.
func (r *Remover) empty(ctx context.Context, due []*raftlogv1.TrashFile) error {
	for len(due) > 0 {
		n := min(batch, len(due))
		if err := r.emptySome(ctx, due[:n]); err != nil {
			return err
		}
		due = due[n:]
	}
	return nil
}

func (r *Remover) emptySome(ctx context.Context, due []*raftlogv1.TrashFile) error {
	paths := make([]string, len(due))
	for i, f := range due {
		paths[i] = f.Path
	}
	var files []string
	var bytes int64
	for i, verdict := range Judge(r.version(), paths) {
		if verdict != Unneeded { // what the state let go should be
			r.cfg.Logger.Error("a file in the trash is not removed", "path", paths[i], "verdict", verdict)
			continue
		}
		files, bytes = append(files, paths[i]), bytes+due[i].Bytes
	}
	if err := r.remove(ctx, files); err != nil {
		return err
	}
	result, err := r.cfg.Store.Propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_RemoveTrash{RemoveTrash: &raftlogv1.RemoveTrash{Paths: paths}}})
	if err == nil {
		err = result.Err
	}
	if err == nil {
		r.cfg.Logger.Info("trash was removed", "files", len(files), "bytes", bytes)
	}
	return err
}

// remove removes up to a batch of files, if this frontend still leads and the
// warehouse is the cluster's: what is removed below an empty mount point would be
// forgotten and stay.
func (r *Remover) remove(ctx context.Context, files []string) error {
	if err := r.cfg.Store.ReadIndex(ctx); err != nil {
		return err
	}
	var cluster *raftlogv1.Cluster
	r.cfg.Store.View(func(st *state.State) { cluster = st.ClusterInfo() })
	if err := r.cfg.Warehouse.Verify(ctx, cluster.GetClusterId()); err != nil {
		return err
	}
	return r.cfg.Warehouse.Remove(ctx, files...)
}
