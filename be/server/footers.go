package server

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/be/pipe"
	"shoal/internal/warehouse"
	backendv1 "shoal/proto/backend/v1"
)

// footerReader reads footers of the warehouse's files.
type footerReader struct {
	warehouse *warehouse.Warehouse
	engine    *pipe.Engine
}

var errNoFile = errors.New("there is no such file")

// ReadFooters implements rpc.FooterReader. A warehouse that is not there is an
// error, not the loss of each of its files.
func (r footerReader) ReadFooters(ctx context.Context, paths []string, send func(*backendv1.ReadFootersResponse) error) error {
	if why := r.warehouse.Trouble(); why != "" {
		return status.Error(codes.Unavailable, why)
	}
	for _, rel := range paths {
		f, err := r.read(ctx, rel)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, warehouse.ErrUnavailable) {
			return status.Error(codes.Unavailable, err.Error())
		}
		if err != nil {
			f = &backendv1.ReadFootersResponse{Path: rel, Error: err.Error()}
		}
		if err := send(f); err != nil {
			return err
		}
	}
	return nil
}

func (r footerReader) read(ctx context.Context, rel string) (*backendv1.ReadFootersResponse, error) {
	files, err := r.warehouse.FetchAnew(ctx, rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoFile
	}
	if err != nil {
		return nil, err
	}
	defer files.Release()
	path := files.Path(rel)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoFile
	}
	if err != nil {
		return nil, err
	}
	f, err := r.engine.ReadFooter(ctx, path)
	if err != nil {
		return nil, err
	}
	return &backendv1.ReadFootersResponse{Path: rel, Bytes: info.Size(), Rows: f.Rows, Metadata: f.Metadata}, nil
}
