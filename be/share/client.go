package share

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/internal/clientprops"
)

// NewClient makes the Kafka client of one member: brokers are host:port, props
// the job's property.*, id how others find the member in a description of the
// group. The caller closes it after the member.
func NewClient(brokers []string, props map[string]string, id string) (*kgo.Client, error) {
	options, err := clientprops.Options(props)
	if err != nil {
		return nil, err
	}
	options = append(options, ClientOptions()...)
	return kgo.NewClient(append(options, kgo.SeedBrokers(brokers...), kgo.ClientID(id))...)
}
