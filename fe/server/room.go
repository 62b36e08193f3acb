package server

import (
	"context"
	"errors"
	"syscall"
	"time"

	"shoal/fe/raftstore"
	"shoal/internal/diskspace"
)

// Recovers tells whether an error of Open or Run is one that a new Server on the
// same folder gets over, once there is room (AwaitRoom).
func Recovers(err error) bool {
	return errors.Is(err, raftstore.ErrLog) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// AwaitRoom waits until a frontend's folder has room for it, or ctx ends. why is
// told, once, what it waits for.
func AwaitRoom(ctx context.Context, dataDir string, why func(error)) {
	disk := diskspace.New(dataDir, reserve)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for told := false; ctx.Err() == nil; told = true {
		short := disk.Check()
		if short == nil {
			return
		}
		if !told {
			why(short)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
