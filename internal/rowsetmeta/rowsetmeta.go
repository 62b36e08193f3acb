// Package rowsetmeta is what a rowset file says in its footer of where its rows
// come from: keys and values of the Parquet metadata that backends write and
// the check of a ledger reads.
//
// Every file of a txn names all that the txn settles, so that any of them is
// witness for the whole. Values are text for people, too. Keys and fields are
// only added. Everything here is pure.
package rowsetmeta

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"shoal/internal/offsets"
)

// The keys.
const (
	Prefix  = "shoal." // of all of them
	Table   = "shoal.table"
	TableID = "shoal.table_id" // decimal; 0 for error rows of a multi-table job
	Label   = "shoal.label"
	Offsets = "shoal.offsets" // as Encode has it
)

// A Partition is what a txn settles of one.
type Partition struct {
	Topic     string
	TopicID   [16]byte
	Partition int32
	// Loaded are the records, Void and Expired what was found to hold none.
	Loaded, Void, Expired offsets.Set
}

// entry is a Partition as JSON.
type entry struct {
	Topic     string `json:"topic"`
	TopicID   string `json:"topic_id"`
	Partition int32  `json:"partition"`
	Offsets   string `json:"offsets"`
	Void      string `json:"void,omitempty"`
	Expired   string `json:"expired,omitempty"`
}

// Encode is the value of Offsets.
func Encode(partitions []Partition) string {
	var entries []entry
	for _, p := range partitions {
		e := entry{Topic: p.Topic, TopicID: hex.EncodeToString(p.TopicID[:]), Partition: p.Partition, Offsets: p.Loaded.String()}
		if len(p.Void) > 0 {
			e.Void = p.Void.String()
		}
		if len(p.Expired) > 0 {
			e.Expired = p.Expired.String()
		}
		entries = append(entries, e)
	}
	text, err := json.Marshal(entries)
	if err != nil {
		panic(fmt.Sprintf("rowsetmeta: strings and numbers as JSON: %v", err))
	}
	return string(text)
}

// Decode reads what Encode wrote. The error says what is wrong with it.
func Decode(text string) ([]Partition, error) {
	var entries []entry
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("%s: %w", Offsets, err)
	}
	partitions := make([]Partition, len(entries))
	for i, e := range entries {
		p := &partitions[i]
		p.Topic, p.Partition = e.Topic, e.Partition
		if n, err := hex.Decode(p.TopicID[:], []byte(e.TopicID[:min(len(e.TopicID), 2*len(p.TopicID))])); err != nil || n < len(p.TopicID) || len(e.TopicID) > 2*n {
			return nil, fmt.Errorf("%s: %q is no topic id", Offsets, e.TopicID)
		}
		for _, set := range []struct {
			text string
			to   *offsets.Set
		}{{e.Offsets, &p.Loaded}, {e.Void, &p.Void}, {e.Expired, &p.Expired}} {
			var err error
			if *set.to, err = offsets.Parse(set.text); err != nil {
				return nil, fmt.Errorf("%s: partition %d: %w", Offsets, e.Partition, err)
			}
		}
	}
	return partitions, nil
}
