package task

import (
	"fmt"

	"shoal/be/source"
	backendv1 "shoal/proto/backend/v1"
)

// Some records end their reader, or take it longer than any txn may. A share
// group passes those on and archives them in the end; what reads without locks
// would come to them for ever. They become error rows as they are, in a txn like
// any other.

// poison is the records that must not be decoded, and why.
type poison map[source.PartitionID]map[int64]string

func (p poison) add(id source.PartitionID, offset int64, why string) {
	if p[id] == nil {
		p[id] = map[int64]string{}
	}
	p[id][offset] = why
}

// poisonOf is what the frontend found out.
func poisonOf(spec *backendv1.TaskSpec) poison {
	p := poison{}
	if !spec.Poison {
		return p
	}
	for _, part := range spec.Repair {
		id := source.PartitionID{Partition: part.Partition}
		copy(id.TopicID[:], part.TopicId)
		for _, r := range part.Ranges {
			for offset := r.First; offset <= r.Last; offset++ {
				p.add(id, offset, "each backend that decoded the record died of it")
			}
		}
	}
	return p
}

// marked is parts with what must not be decoded of them.
func (t *Task) marked(parts []source.Partition) []source.Partition {
	if len(t.poison) == 0 {
		return parts
	}
	out := make([]source.Partition, len(parts))
	for i, p := range parts {
		p.Poison = t.poison[p.ID()]
		out[i] = p
	}
	return out
}

// blameAlone notes the record of a batch that took too long to decode, if it was
// alone and would only come again.
func (t *Task) blameAlone(b *batch) {
	if !t.classic() || b.records != 1 {
		return
	}
	for i := range b.parts {
		for _, r := range b.parts[i].Records {
			t.poison.add(b.parts[i].ID(), r.Offset, fmt.Sprintf("the record alone could not be loaded within %v", t.lock/2))
		}
	}
}
