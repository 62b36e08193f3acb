package classic

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"shoal/be/source"
)

// lookupTimeout bounds a metadata request, the client's retries included.
const lookupTimeout = 10 * time.Second

// findLeaders asks for the leaders of partitions that may be asked for and whose
// leader is not known, by topic id: a name may have gone over to another topic.
func (r *Reader) findLeaders(ctx context.Context) {
	missing := make(map[source.PartitionID]*partition)
	var parts []*partition
	for _, p := range r.parts {
		if p.broker == unknown && p.due() {
			missing[p.PartitionID] = p
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return
	}
	resp, err := r.metadata(ctx, parts)
	if err != nil {
		r.failed(failure("look-up of the leaders of topic "+r.cfg.Topic, err), parts...)
		return
	}
	for _, topic := range resp.Topics {
		err := kerr.ErrorForCode(topic.ErrorCode)
		for _, led := range topic.Partitions {
			id := source.PartitionID{TopicID: topic.TopicID, Partition: led.Partition}
			if p := missing[id]; p != nil && err == nil && led.Leader >= 0 {
				p.broker, p.epoch = led.Leader, led.LeaderEpoch
				delete(missing, id)
			}
		}
		for id, p := range missing {
			if err != nil && id.TopicID == topic.TopicID {
				r.failed(failure(r.named(p), err), p)
				delete(missing, id)
			}
		}
	}
	for _, p := range missing {
		r.failed(failure(r.named(p), kerr.LeaderNotAvailable), p)
	}
}

func (r *Reader) metadata(ctx context.Context, parts []*partition) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	seen := make(map[source.TopicID]bool)
	for _, p := range parts {
		if !seen[p.TopicID] {
			seen[p.TopicID] = true
			topic := kmsg.NewMetadataRequestTopic()
			topic.TopicID = p.TopicID
			req.Topics = append(req.Topics, topic)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	return req.RequestWith(ctx, r.cfg.Client)
}
