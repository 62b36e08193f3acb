package task

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"shoal/be/source"
	"shoal/internal/offsets"
	backendv1 "shoal/proto/backend/v1"
	frontendv1 "shoal/proto/frontend/v1"
	typesv1 "shoal/proto/types/v1"
)

// label names a txn. It never comes again: the incarnation and the epoch see to
// that across restarts, the number within a run.
func label(s *backendv1.TaskSpec, number uint64) string {
	return fmt.Sprintf("shoal-%d-%d-%d-%d-%d", s.Incarnation, s.JobId, s.TaskId, s.Epoch, number)
}

// request is the CommitTxn that settles what b holds, with the files of w.
func request(s *backendv1.TaskSpec, number uint64, b *batch, w Written) *frontendv1.CommitTxnRequest {
	req := &frontendv1.CommitTxnRequest{
		JobId:         s.JobId,
		TaskId:        s.TaskId,
		Epoch:         s.Epoch,
		Number:        number,
		Label:         label(s, number),
		TableId:       s.TableId,
		SchemaVersion: s.Schema.GetVersion(),
		Generation:    s.Generation,
		Rowset:        w.Rowset,
		Tables:        w.Tables,
		ErrorRowset:   w.ErrorRowset,
		Counters:      w.Counters,
		Samples:       samples(w.Samples),
	}
	for i := range b.parts {
		if p := &b.parts[i]; settles(p) {
			req.Partitions = append(req.Partitions, partitionOffsets(p))
		}
	}
	req.Digest = digest(req)
	return req
}

// partitionOffsets is exactly what is in hand of p: records in runs without a
// hole and with one leader epoch, the gaps between them, and what had expired.
func partitionOffsets(p *source.Partition) *typesv1.PartitionOffsets {
	out := &typesv1.PartitionOffsets{TopicId: slices.Clone(p.TopicID[:]), Partition: p.Partition}
	var run *typesv1.EpochRange
	for _, r := range p.Records {
		if run == nil || r.Offset != run.Last+1 || r.LeaderEpoch != run.LeaderEpoch {
			run = &typesv1.EpochRange{First: r.Offset, LeaderEpoch: r.LeaderEpoch}
			out.Loaded = append(out.Loaded, run)
		}
		run.Last = r.Offset
	}
	out.Void, out.Expired = ranges(p.Gaps), ranges(p.Expired)
	return out
}

func ranges(set offsets.Set) (out []*typesv1.OffsetRange) {
	for _, r := range set {
		out = append(out, &typesv1.OffsetRange{First: r.First, Last: r.Last})
	}
	return out
}

// samples makes text of what is told of error rows: a message need not be
// UTF-8, and what is not cannot be sent.
func samples(in []*frontendv1.ErrorSample) []*frontendv1.ErrorSample {
	out := make([]*frontendv1.ErrorSample, len(in))
	for i, s := range in {
		out[i] = &frontendv1.ErrorSample{
			Partition: s.Partition,
			Offset:    s.Offset,
			Reason:    strings.ToValidUTF8(s.Reason, "\uFFFD"),
			Raw:       strings.ToValidUTF8(s.Raw, "\uFFFD"),
		}
	}
	return out
}

// digest tells a repeated request from another txn under the same number.
func digest(req *frontendv1.CommitTxnRequest) []byte {
	// Marshalling a message of ours cannot fail: it has no required fields and
	// its strings are text.
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(req)
	if err != nil {
		panic(fmt.Sprintf("task: marshal CommitTxn: %v", err))
	}
	sum := sha256.Sum256(b)
	return sum[:]
}
