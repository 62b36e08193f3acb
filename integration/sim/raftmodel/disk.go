package raftmodel

import "slices"

// nobody was voted for.
const nobody = -1

// A Disk is what a node keeps. Term and vote are synced at once, and so are a
// snapshot and the loss of entries; new entries are not.
type Disk struct {
	term uint64
	vote int

	snapshot         []byte
	index, indexTerm uint64 // what the snapshot is of; the log begins behind it
	entries          []Entry
	synced           uint64
}

// NewDisk holds entries that every node has from the beginning.
func NewDisk(data [][]byte) *Disk {
	d := &Disk{vote: nobody, synced: uint64(len(data))}
	for _, b := range data {
		d.entries = append(d.entries, Entry{Data: b})
	}
	return d
}

// Snapshot is the last one, nil if there is none, and the index that it is of.
func (d *Disk) Snapshot() (snapshot []byte, index uint64) { return d.snapshot, d.index }

// Unsynced is how many entries a crash may lose.
func (d *Disk) Unsynced() int { return int(d.last() - min(d.last(), d.synced)) }

// Crash loses unsynced entries, all but the first kept ones.
func (d *Disk) Crash(kept int) {
	d.entries = slices.Clone(d.entries[:len(d.entries)-d.Unsynced()+kept])
	d.synced = d.last()
}

func (d *Disk) last() uint64 { return d.index + uint64(len(d.entries)) }

func (d *Disk) at(index uint64) Entry { return d.entries[index-d.index-1] }

func (d *Disk) termAt(index uint64) uint64 {
	if index == d.index {
		return d.indexTerm
	}
	return d.at(index).Term
}

// replace has a snapshot stand for the log up to index.
func (d *Disk) replace(index, term uint64, snapshot []byte) {
	if index > d.index {
		d.entries = slices.Clone(d.entries[index-d.index:])
	}
	d.index, d.indexTerm, d.snapshot = index, term, snapshot
	d.synced = max(d.synced, index)
}
