package wire

import (
	"bytes"
	"encoding/binary"

	"shoal/fe/errno"
)

// A decoder takes a packet apart. Reading beyond the end yields zero values
// and is remembered: a caller reads all it wants and then asks err.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) err() error {
	if d.failed {
		return errno.New(errno.MalformedPacket, "Malformed communication packet.")
	}
	return nil
}

// bytes is the next n bytes, part of the packet.
func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.failed = true
		d.rest = nil
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) uint8() uint8 {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint16() uint16 {
	if b := d.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *decoder) uint32() uint32 {
	if b := d.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// nulString reads up to a zero byte; one that is not there is the packet's end.
func (d *decoder) nulString() string {
	text, rest, _ := bytes.Cut(d.rest, []byte{0})
	d.rest = rest
	return string(text)
}

// lenEncInt reads a length-encoded integer. The marks 0xFB (NULL) and 0xFF
// are not integers.
func (d *decoder) lenEncInt() uint64 {
	switch first := d.uint8(); first {
	case 0xfb, 0xff:
		d.failed = true
		return 0
	case 0xfc:
		return uint64(d.uint16())
	case 0xfd:
		if b := d.bytes(3); b != nil {
			return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16
		}
		return 0
	case 0xfe:
		return d.uint64()
	default:
		return uint64(first)
	}
}

func (d *decoder) lenEncBytes() []byte { return d.bytes(d.lenEncInt()) }

func appendLenEncInt(b []byte, n uint64) []byte {
	switch {
	case n < 0xfb:
		return append(b, byte(n))
	case n < 1<<16:
		return append(b, 0xfc, byte(n), byte(n>>8))
	case n < 1<<24:
		return append(b, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
	return binary.LittleEndian.AppendUint64(append(b, 0xfe), n)
}

func appendLenEncString[T string | []byte](b []byte, s T) []byte {
	return append(appendLenEncInt(b, uint64(len(s))), s...)
}
