package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"shoal/fe/errno"
	"shoal/fe/result"
)

// TestBinaryCells has the shortest and longest forms of what the binary
// protocol does not send as text.
func TestBinaryCells(t *testing.T) {
	tests := []struct{ sqlType, cell, want string }{
		{"boolean", "1", "01"},
		{"tinyint", "-1", "ff"},
		{"smallint", "-2", "feff"},
		{"int", "1", "01000000"},
		{"bigint", "-1", "ffffffffffffffff"},
		{"largeint", "7", "0137"},
		{"float", "1.5", "0000c03f"},
		{"double", "1.5", "000000000000f83f"},
		{"decimal(4,1)", "1.5", "03312e35"},
		{"date", "2024-02-29", "04e807021d"},
		{"date", "0000-00-00", "00"},
		{"datetime", "2024-02-29 00:00:00", "04e807021d"},
		{"datetime", "2024-02-29 01:02:03", "07e807021d010203"},
		{"datetime(3)", "2024-02-29 01:02:03.004", "0be807021d010203a00f0000"},
		{"datetime", "0000-00-00 00:00:00", "00"},
		{"time", "00:00:00", "00"},
		{"time", "01:02:03", "080000000000010203"},
		{"time", "-49:00:00.5", "0c01020000000100" + "00" + "20a10700"},
		{"time", "240000:00:00", "080010270000000000"},
		{"text", "", "00"},
	}
	for _, tt := range tests {
		columns, err := defineAll([]result.Column{{Name: "c", Type: tt.sqlType}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendBinaryRow(nil, columns, [][]byte{[]byte(tt.cell)})
		if want := "0000" + tt.want; err != nil || fmt.Sprintf("%x", got) != want {
			t.Errorf("%s %q = %x, %v; want %s", tt.sqlType, tt.cell, got, err, want)
		}
	}
}

func TestBinaryCellsThatAreNoneOfTheirType(t *testing.T) {
	for sqlType, cells := range map[string][]string{
		"tinyint":  {"128", "", "x", "1.5"},
		"bigint":   {"9223372036854775808"},
		"double":   {"one"},
		"date":     {"2024-02", "2024-02-29-", "yesterday", "", "65536-01-01", "2024-256-01"},
		"datetime": {"2024-02-29 1", "2024-02-29 01:02:03.1234567", "2024-02-29 01:02:x"},
		"time":     {"1:2", "--1:00:00"},
	} {
		for _, cell := range cells {
			columns, err := defineAll([]result.Column{{Name: "c", Type: sqlType}})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := appendBinaryRow(nil, columns, [][]byte{[]byte(cell)}); err == nil {
				t.Errorf("%s %q = %x", sqlType, cell, got)
			}
		}
	}
	if c, err := define(result.Column{Name: "c", Type: "bitmap"}); err == nil {
		t.Errorf("an unknown type became %+v", c)
	}
}

// TestNullBitmap: the bitmap of a row begins at its third bit.
func TestNullBitmap(t *testing.T) {
	columns := make([]column, 15)
	for i := range columns {
		columns[i] = number("n", typeTiny, 1, 0)
	}
	cells := make([][]byte, len(columns))
	cells[5], cells[6] = []byte("1"), []byte("2")
	got, err := appendBinaryRow(nil, columns, cells)
	if want := []byte{0, 0b01111100, 0b11111110, 0b00000001, 1, 2}; err != nil || !bytes.Equal(got, want) {
		t.Errorf("row = %08b, %v; want %08b", got, err, want)
	}
}

// A sink takes what a writer writes.
type sink struct {
	net.Conn
	bytes.Buffer
}

func (s *sink) Read(b []byte) (int, error)       { return s.Buffer.Read(b) }
func (s *sink) Write(b []byte) (int, error)      { return s.Buffer.Write(b) }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

func TestFrames(t *testing.T) {
	for size, frames := range map[int]int{0: 1, 1: 1, maxFrame - 1: 1, maxFrame: 2, maxFrame + 1: 2} {
		var s sink
		w := packetWriter{ctx: t.Context(), dst: &s, timeout: func() time.Duration { return time.Second }, seq: 254}
		payload := bytes.Repeat([]byte{7}, size)
		w.send(payload)
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		if got := s.Len() - size; got != frames*headerSize {
			t.Errorf("%d bytes: %d bytes of headers, want %d frames", size, got, frames)
		}
		r := packetReader{src: &s, limit: 2 * maxFrame}
		p, err := r.read()
		if err != nil || !bytes.Equal(p.payload, payload) || p.seq != 254 || p.next != byte(254+frames) {
			t.Errorf("%d bytes came back as %d, seq %d, next %d, %v", size, len(p.payload), p.seq, p.next, err)
		}
	}
}

func TestPacketReaderRefuses(t *testing.T) {
	full := append([]byte{0xff, 0xff, 0xff, 0}, make([]byte, maxFrame)...)
	for name, tt := range map[string]struct {
		data  []byte
		limit int
		want  error
	}{
		"nothing":            {nil, 10, io.EOF},
		"half a header":      {[]byte{1, 0}, 10, io.ErrUnexpectedEOF},
		"half a payload":     {[]byte{5, 0, 0, 0, 'x'}, 10, io.ErrUnexpectedEOF},
		"no payload":         {[]byte{5, 0, 0, 0}, 10, io.ErrUnexpectedEOF},
		"above the limit":    {append([]byte{11, 0, 0, 0}, make([]byte, 11)...), 10, errno.PacketTooLarge},
		"above, in two":      {append(bytes.Clone(full), 1, 0, 0, 1, 'x'), maxFrame, errno.PacketTooLarge},
		"above, not whole":   {append(bytes.Clone(full), 1, 0, 0, 1), 10, io.ErrUnexpectedEOF},
		"frame out of order": {append(bytes.Clone(full), 1, 0, 0, 2, 'x'), 2 * maxFrame, errno.PacketsOutOfOrder},
	} {
		r := packetReader{src: bytes.NewReader(tt.data), limit: tt.limit}
		if p, err := r.read(); !errors.Is(err, tt.want) {
			t.Errorf("%s: %d bytes, %v; want %v", name, len(p.payload), err, tt.want)
		}
	}
}

// TestPacketReaderSkips: a packet that is too large is read to its end, and the
// stream goes on behind it.
func TestPacketReaderSkips(t *testing.T) {
	frame := append([]byte{0xff, 0xff, 0xff, 0}, make([]byte, maxFrame)...)
	second := bytes.Clone(frame)
	second[3] = 1
	r := packetReader{src: io.MultiReader(bytes.NewReader(frame), bytes.NewReader(second), strings.NewReader("\x02\x00\x00\x02xx\x01\x00\x00\x00y")), limit: 10}
	if p, err := r.read(); !errors.Is(err, errno.PacketTooLarge) || p.next != 3 || len(p.payload) > 0 {
		t.Errorf("%d bytes, next %d, %v; want PacketTooLarge with the number of the answer", len(p.payload), p.next, err)
	}
	if p, err := r.read(); err != nil || string(p.payload) != "y" {
		t.Errorf("behind it came %q, %v", p.payload, err)
	}
}

func FuzzLogin(f *testing.F) {
	f.Add([]byte("\x8d\xa6\xff\x19\x00\x00\x00\x01\xff" + string(make([]byte, 23)) + "root\x00\x00db\x00mysql_native_password\x00\x06\x01k\x03val"))
	f.Add([]byte{0x0f, 0xa2})
	f.Fuzz(func(t *testing.T, payload []byte) {
		login, err := parseLogin(payload)
		if err == nil && !login.caps.has(capProtocol41) {
			t.Errorf("a client before 4.1 got in: %+v", login)
		}
	})
}

func FuzzExecute(f *testing.F) {
	f.Add(uint8(2), []byte("\x00\x01\x08\x00\xfd\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01x"))
	f.Add(uint8(1), []byte("\x00\x01\x0c\x00\x0b\xe7\x07\x0b\x0e\x16\x0d\x14\x40\xe2\x01\x00"))
	f.Add(uint8(1), []byte("\x00\x01\xf6\x00\x031.5"))
	f.Fuzz(func(t *testing.T, params uint8, body []byte) {
		p := prepared{params: int(params)}
		args, err := p.decodeArgs(&decoder{rest: body})
		if err == nil && len(args) != int(params) {
			t.Errorf("%d values for %d parameters", len(args), params)
		}
		for _, a := range args {
			if _, err := a.SQL(); err != nil && !errors.Is(err, errno.WrongArguments) {
				t.Errorf("value %v: %v", a, err)
			}
		}
	})
}

func FuzzPackets(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x0e\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := packetReader{src: bytes.NewReader(data), limit: 1 << 10}
		for {
			p, err := r.read()
			if err != nil {
				return
			}
			if len(p.payload) > 1<<10 {
				t.Fatalf("packet of %d bytes above the limit", len(p.payload))
			}
		}
	})
}
