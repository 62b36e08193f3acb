package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"shoal/fe/backup"
	feserver "shoal/fe/server"
	"shoal/internal/atomicfile"
	adminv1 "shoal/proto/admin/v1"
)

func snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "snapshot", Short: "Save the cluster's replicated state, and make a cluster of it again", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(saveCommand(), restoreCommand())
	return cmd
}

func saveCommand() *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{Use: "save FILE", Short: "Save the replicated state of a running cluster, or what a frontend that does not run has of it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			write := func(w io.Writer) error { return feserver.SaveFolder(w, filepath.Join(dataDir, "fe")) }
			if dataDir == "" {
				client, done, err := dialAdmin(cmd)
				if err != nil {
					return err
				}
				defer done()
				write = func(w io.Writer) error { return receive(cmd.Context(), w, client) }
			}
			applied, err := saveSnapshot(args[0], write)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "saved the state of log index %d to %s\n", applied, args[0])
			return nil
		}}
	cmd.Flags().StringVar(&dataDir, "from-data-dir", "", "`folder` of a frontend that does not run: save what it has, when a majority of the others is lost")
	return cmd
}

// receive writes the snapshot that a frontend sends.
func receive(ctx context.Context, w io.Writer, client adminv1.AdminServiceClient) error {
	stream, err := client.SaveSnapshot(ctx, &adminv1.SaveSnapshotRequest{})
	if err != nil {
		return readable(err)
	}
	for {
		chunk, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return readable(err)
		}
		if _, err := w.Write(chunk.GetData()); err != nil {
			return err
		}
	}
}

// saveSnapshot has a snapshot written to a file, which is there only if it is a
// whole snapshot, and durable then.
func saveSnapshot(path string, write func(io.Writer) error) (applied uint64, err error) {
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("%s is there already", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		if temporary, is := errors.AsType[*fs.PathError](err); is {
			err = temporary.Err // the name that it would have had says nothing to anybody
		}
		return 0, fmt.Errorf("cannot make %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // it has its own name by then if all went well
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	s, err := backup.Open(f.Name())
	if err != nil {
		return 0, fmt.Errorf("what was received is no snapshot, try again: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return 0, err
	}
	return s.Applied(), atomicfile.SyncFolder(filepath.Dir(path))
}

func restoreCommand() *cobra.Command {
	var dataDir, key, raftAddr string
	cmd := &cobra.Command{Use: "restore FILE", Short: "Make the data folder of a first frontend from a saved snapshot, while nothing of the cluster runs", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkAddress("raft-addr", raftAddr); err != nil {
				return err
			}
			restored, err := feserver.Restore(feserver.RestoreConfig{Snapshot: args[0], Key: key, DataDir: filepath.Join(dataDir, "fe"),
				RaftAddr: raftAddr, Now: time.Now(), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "restored cluster %s as of log index %d to %s, as incarnation %d\n",
				restored.Cluster.ClusterId, restored.Applied, dataDir, restored.Cluster.Incarnation)
			if restored.NeedsKey != nil {
				fmt.Fprintln(out, restored.NeedsKey)
			}
			fmt.Fprintf(out, "start it with: shoal fe --data-dir %s; other frontends join it with empty data folders, backends keep theirs\n", dataDir)
			return nil
		}}
	cmd.Flags().StringVar(&dataDir, "data-dir", "data", "`folder` of the new frontend, where no frontend may be yet")
	cmd.Flags().StringVar(&key, "cluster-key", "", "copy of the `file` cluster.key of one of the cluster's frontends")
	cmd.Flags().StringVar(&raftAddr, "raft-addr", "127.0.0.1:9010", "`address` for the other frontends, until the new one starts with its own")
	return cmd
}
