package errorrows

import (
	"encoding/json"
	"fmt"
)

// A Header is one header of a record. A nil Value is a null one, which Kafka
// tells apart from an empty one.
type Header struct {
	Name  []byte // what Kafka calls a string need not be text here
	Value []byte
}

// EncodeHeaders writes headers, in order and duplicates included, as a JSON
// array of [name, value], both in base64; a null value is null.
func EncodeHeaders(headers []Header) []byte {
	pairs := make([][2][]byte, len(headers))
	for i, h := range headers {
		if h.Name == nil {
			h.Name = []byte{}
		}
		pairs[i] = [2][]byte{h.Name, h.Value}
	}
	out, err := json.Marshal(pairs)
	if err != nil {
		panic(fmt.Sprintf("errorrows: bytes as JSON: %v", err))
	}
	return out
}

// DecodeHeaders reads what EncodeHeaders wrote.
func DecodeHeaders(text []byte) ([]Header, error) {
	var pairs [][2][]byte
	if err := json.Unmarshal(text, &pairs); err != nil {
		return nil, fmt.Errorf("headers of a message in an error rowset: %w", err)
	}
	headers := make([]Header, len(pairs))
	for i, p := range pairs {
		headers[i] = Header{Name: p[0], Value: p[1]}
	}
	return headers, nil
}
