package pipe

import (
	"fmt"

	"shoal/be/decode"
)

// guarded decodes something of a message. Decoding panics at no bytes; should it
// do so after all, that is the message's own affair too: it becomes an error row.
// ok is false then, and nothing more is to be expected of the message.
func guarded(message []byte, decoding func() *decode.RowError) (bad *decode.RowError, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			bad, ok = &decode.RowError{Line: 1, Raw: message, Reason: fmt.Sprintf("internal error while decoding: %v", p)}, false
		}
	}()
	return decoding(), true
}
