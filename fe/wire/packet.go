package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"time"

	"shoal/fe/errno"
)

const (
	headerSize = 4
	maxFrame   = 1<<24 - 1 // payload bytes of one frame; a full one is continued

	flushSize = 16 << 10 // rows leave in blocks of this size
	keepSize  = 1 << 20  // a larger buffer is let go after use
)

// A packet is one message of the client, joined from its frames.
type packet struct {
	payload []byte
	seq     uint8 // of its first frame
	next    uint8 // of the frame that answers it
}

// A packetReader joins frames to packets of at most limit bytes.
type packetReader struct {
	src   io.Reader
	limit int
}

// read returns the next packet. Errors of the source are returned as they are,
// those of the client as errno's: 1153 and 1156. After an error the stream is
// of no more use, but for 1153: the packet was read to its end, so that the
// client has sent all of it and reads the answer, and comes without payload.
func (r *packetReader) read() (packet, error) {
	var body bytes.Buffer // grows as data comes: the announced length is only a claim
	var p packet
	var tooLarge error
	for first := true; ; first = false {
		var header [headerSize]byte
		if _, err := io.ReadFull(r.src, header[:]); err != nil {
			return packet{}, err
		}
		size := int(header[0]) | int(header[1])<<8 | int(header[2])<<16
		if first {
			p.seq = header[3]
		} else if header[3] != p.next {
			return packet{}, errno.New(errno.PacketsOutOfOrder, "Got packets out of order")
		}
		p.next = header[3] + 1
		var to io.Writer = &body
		if tooLarge != nil || body.Len()+size > r.limit {
			tooLarge = errno.New(errno.PacketTooLarge, "Got a packet bigger than 'max_allowed_packet' bytes (%d)", r.limit)
			body, to = bytes.Buffer{}, io.Discard
		}
		if n, err := io.CopyN(to, r.src, int64(size)); err != nil {
			if errors.Is(err, io.EOF) && n < int64(size) {
				err = io.ErrUnexpectedEOF
			}
			return packet{}, err
		}
		if size < maxFrame {
			p.payload = body.Bytes()
			return p, tooLarge
		}
	}
}

// A packetWriter collects packets and writes them to the client in blocks. The
// payload is appended to buf directly, between begin and end.
type packetWriter struct {
	ctx     context.Context // once it ends, the client has only a moment to read
	dst     net.Conn
	timeout func() time.Duration // for the client to take a block
	buf     []byte
	start   int // of the open packet's header in buf
	seq     uint8
}

// begin opens a packet.
func (w *packetWriter) begin() {
	w.start = len(w.buf)
	w.buf = append(w.buf, 0, 0, 0, 0)
}

// abandon drops the open packet.
func (w *packetWriter) abandon() { w.buf = w.buf[:w.start] }

// end closes the open packet, splitting it into frames where it must be.
func (w *packetWriter) end() {
	size := len(w.buf) - w.start - headerSize
	if size >= maxFrame {
		w.split()
		return
	}
	w.putHeader(w.start, size)
}

// split frames a payload that is too large for one. A last frame shorter than
// the largest, perhaps empty, tells the end.
func (w *packetWriter) split() {
	payload := bytes.Clone(w.buf[w.start+headerSize:])
	w.buf = w.buf[:w.start]
	for {
		n := min(len(payload), maxFrame)
		at := len(w.buf)
		w.buf = append(append(w.buf, 0, 0, 0, 0), payload[:n]...)
		w.putHeader(at, n)
		payload = payload[n:]
		if n < maxFrame {
			return
		}
	}
}

func (w *packetWriter) putHeader(at, size int) {
	w.buf[at], w.buf[at+1], w.buf[at+2], w.buf[at+3] = byte(size), byte(size>>8), byte(size>>16), w.seq
	w.seq++
}

// send writes one whole packet into the buffer.
func (w *packetWriter) send(payload []byte) {
	w.begin()
	w.buf = append(w.buf, payload...)
	w.end()
}

// flush writes what is buffered, waiting for the client to take it.
func (w *packetWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	if err := w.dst.SetWriteDeadline(time.Now().Add(w.timeout())); err != nil {
		return err
	}
	if w.ctx.Err() != nil {
		// Whoever ended it shortened the deadline before; do it again.
		if err := w.dst.SetWriteDeadline(time.Now().Add(linger)); err != nil {
			return err
		}
	}
	_, err := w.dst.Write(w.buf)
	w.buf = w.buf[:0]
	if cap(w.buf) > keepSize {
		w.buf = nil
	}
	return err
}
