package raftstore

import (
	"fmt"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

// strictLog is a log that is written no more after a write or fsync failed.
//
// raft itself would stand for election for ever, and after an error raft-wal
// takes no entry at all until it is opened again. Only then is it known what
// of the failed write is on the device. So the first failure ends RunLeader,
// whose caller ends the process: started again, it recovers.
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
		case l.failed <- fmt.Errorf("the log cannot be written, and a frontend that starts again recovers it: %w", err):
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

func (l *strictLog) SetUint64(key []byte, value uint64) error {
	return l.watch(l.WAL.SetUint64(key, value))
}
