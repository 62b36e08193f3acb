package raftstore

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

// ErrLog says that the log could not be written. Opened again, a Store recovers it.
var ErrLog = errors.New("the log cannot be written")

// retryTerm is how often it is tried again to write a term on a full disk.
const retryTerm = time.Second

// strictLog is a log that is written no more after a write or fsync failed.
//
// raft itself would stand for election for ever, and after an error raft-wal
// takes no entry at all until it is opened again. Only then is it known what
// of the failed write is on the device. So the first failure ends RunLeader,
// whose caller closes the Store and opens it again.
type strictLog struct {
	*wal.WAL
	failed chan error // the first failure; has room for it
}

func newStrictLog(log *wal.WAL) *strictLog {
	return &strictLog{WAL: log, failed: make(chan error, 1)}
}

// watch remembers the first failure, and returns err.
func (l *strictLog) watch(err error) error {
	if err != nil {
		select {
		case l.failed <- fmt.Errorf("%w, and a frontend that starts again recovers it: %w", ErrLog, err):
		default:
		}
	}
	return err
}

func (l *strictLog) StoreLog(entry *raft.Log) error { return l.watch(l.WAL.StoreLog(entry)) }

func (l *strictLog) StoreLogs(entries []*raft.Log) error { return l.watch(l.WAL.StoreLogs(entries)) }

func (l *strictLog) DeleteRange(first, last uint64) error {
	return l.watch(l.WAL.DeleteRange(first, last))
}

func (l *strictLog) Set(key, value []byte) error { return l.watch(l.WAL.Set(key, value)) }

// SetUint64 writes raft's term. Raft panics if that fails, so on a full disk it
// waits for room: nothing else of raft goes on meanwhile, its end included.
func (l *strictLog) SetUint64(key []byte, value uint64) error {
	for {
		err := l.watch(l.WAL.SetUint64(key, value))
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
			return err
		}
		time.Sleep(retryTerm)
	}
}
