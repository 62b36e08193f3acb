package rpc

import (
	"bufio"
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"shoal/fe/backup"
	adminv1 "shoal/proto/admin/v1"
)

// snapshotChunk is how many bytes of a snapshot a message holds.
const snapshotChunk = 256 << 10

// SaveSnapshot implements AdminService. The leader takes the state once and then
// sends it, whatever comes meanwhile. If leadership changes in the middle the
// call is begun anew elsewhere and what was sent is no snapshot: its checksum
// tells.
func (a *Admin) SaveSnapshot(req *adminv1.SaveSnapshotRequest, stream grpc.ServerStreamingServer[adminv1.SaveSnapshotResponse]) error {
	err := a.Cluster.Call(stream.Context(),
		func(context.Context) error {
			chunks := bufio.NewWriterSize(snapshotWriter{stream}, snapshotChunk)
			return errors.Join(backup.Write(chunks, a.Snapshot()), chunks.Flush())
		},
		func(ctx context.Context, conn grpc.ClientConnInterface) error {
			from, err := adminv1.NewAdminServiceClient(conn).SaveSnapshot(ctx, req)
			for err == nil {
				var chunk *adminv1.SaveSnapshotResponse
				if chunk, err = from.Recv(); err == nil {
					err = stream.Send(chunk)
				}
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		})
	return answered(err)
}

// snapshotWriter sends what is written to it.
type snapshotWriter struct {
	stream grpc.ServerStreamingServer[adminv1.SaveSnapshotResponse]
}

// Write implements io.Writer. What is sent is not kept.
func (w snapshotWriter) Write(p []byte) (int, error) {
	return len(p), w.stream.Send(&adminv1.SaveSnapshotResponse{Data: p})
}
