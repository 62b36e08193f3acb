// Package client makes the Kafka clients of a backend: whatever reads from a
// job's brokers, or writes to them, does it by the job's own property.*.
//
// No two tasks share a client: connections and credentials are a task's own.
// Who is given a client closes it.
package client

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/internal/clientprops"
)

// A Place is where a job's topic is, and how to get there.
type Place struct {
	Brokers []string // host:port
	// Properties are the job's property.*, without the prefix.
	Properties map[string]string
	// Files are the contents of those that a property names as FILE:name.
	Files map[string][]byte
}

// New makes a client. References to the environment or to paths are resolved
// here, on this machine. id names the client to the brokers and to people,
// unless the job has a client.id. Options in extra win over properties.
func New(p Place, id string, extra ...kgo.Opt) (*kgo.Client, error) {
	options, err := clientprops.Options(p.Properties, p.Files)
	if err != nil {
		return nil, err
	}
	options = append([]kgo.Opt{kgo.ClientID(id)}, options...)
	options = append(options, kgo.SeedBrokers(p.Brokers...))
	client, err := kgo.NewClient(append(options, extra...)...)
	if err != nil {
		return nil, fmt.Errorf("a Kafka client for %s: %w", strings.Join(p.Brokers, ","), err)
	}
	return client, nil
}
