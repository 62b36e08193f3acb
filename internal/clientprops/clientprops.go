// Package clientprops reads the property.* keys of a routine load job: how a
// Kafka client reaches the job's brokers. They have librdkafka's names, which
// Doris's users write.
//
// Frontends check the broker with these settings and backends read with them,
// so both sides must understand a key the same way; that is why it is here.
// One table (properties) says of every key whether it is carried out, has no
// meaning here, or is refused; docs/kafka-properties.md is that table. Nothing
// else is taken: an unknown key, or a value that cannot be carried out, is an
// *Error that names the key. Errors never hold a secret.
//
// A value may refer to a secret on the node instead of being one; see
// IsReference. Everything here is safe for concurrent use. It reads files and
// the environment, and starts nothing.
package clientprops

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"shoal/sql/nearest"
)

// Keys that others read or set, without the prefix "property.".
const (
	GroupID        = "group.id"
	DefaultOffsets = "kafka_default_offsets"
	IsolationLevel = "isolation.level"
	ClientID       = "client.id"
)

// An Error names the property that is wrong.
type Error struct {
	Key    string // without the prefix
	Reason string
}

// Error is one sentence for the user.
func (e *Error) Error() string { return fmt.Sprintf("property.%s %s", e.Key, e.Reason) }

// wrong is an Error with a formatted reason.
func wrong(key, format string, args ...any) error {
	return &Error{key, fmt.Sprintf(format, args...)}
}

// IsSecret tells whether the value of a key must not be shown, unless it is
// only a reference.
func IsSecret(key string) bool { return known[key].secret }

// filePrefix begins a value that names a file uploaded by CREATE FILE.
const filePrefix = "FILE:"

// Files are the names of the uploaded files that the properties refer to as
// FILE:name, sorted.
func Files(properties map[string]string) []string {
	var names []string
	for key, value := range properties {
		if name, ok := strings.CutPrefix(value, filePrefix); ok && known[key].file {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ReadUncommitted tells whether records of open and aborted transactions are
// wanted; Options has checked the value.
func ReadUncommitted(properties map[string]string) bool {
	return strings.EqualFold(properties[IsolationLevel], readUncommitted)
}

const readUncommitted = "read_uncommitted"

// Options turns properties, keys without the prefix, into options of a Kafka
// client. files are the contents of those that Files names. References are
// resolved on this node: certificates and keys now, names, passwords and tokens
// now and again for each connection, so that they may change. Without
// security.protocol the connection is plain.
func Options(properties map[string]string, files map[string][]byte) ([]kgo.Opt, error) {
	s := settings{files: files, network: "tcp"}
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		value := properties[key]
		p, ok := known[key]
		switch {
		case !ok:
			return nil, unknown(key)
		case p.class == refused:
			return nil, wrong(key, "is refused: %s", p.says)
		case value == "":
			continue // as if it were not given
		case IsReference(value) && !p.reference:
			return nil, wrong(key, "must be written out: references are for names, passwords, tokens and keys")
		case len(p.values) > 0 && !slices.Contains(p.values, strings.ToLower(value)):
			return nil, wrong(key, "= '%.64s' is not supported: %s", value, p.choices())
		case p.set == nil:
			continue
		}
		if err := p.set(&s, key, value); err != nil {
			return nil, err
		}
	}
	return s.options()
}

// unknown refuses a key that nobody would read.
func unknown(key string) error {
	var all, names []string
	for _, p := range properties {
		all = append(all, p.name)
		if p.class == used {
			names = append(names, "property."+p.name)
		}
	}
	if near := nearest.Of(key, all); near != "" {
		return wrong(key, "is not known; did you mean property.%s?", near)
	}
	return wrong(key, "is not known; known are %s, and some that have no meaning here", strings.Join(names, ", "))
}
