package wire_test

import (
	"strings"
	"testing"
)

const (
	defN = "03'def' 00 00 00 01'n' 00 0c 3f00 14000000 08 0000 00 0000"
	defS = "03'def' 00 00 00 01's' 00 0c 2d00 fc030000 fc 1000 00 0000"
)

func TestTextResultInBothEndStyles(t *testing.T) {
	ts := startServer(t, nil, nil)
	plain := dialRaw(t, ts)
	plain.login(capsPlain)
	plain.command("\x03rows 2 3;")
	plain.want("02", defN, defS, "fe 0000 0200", "01'0' 03'xxx'", "01'1' 03'xxx'", "fe 0000 0200")

	dep := dialRaw(t, ts)
	dep.login(capsDEP)
	dep.command("\x03rows 2 3")
	dep.want("02", defN, defS, "01'0' 03'xxx'", "01'1' 03'xxx'", "fe 00 00 0200 0000 00")
	dep.command("\x03insert")
	dep.want("00 03 00 0200 0000 0a'Records: 3'")
	dep.command("\x03set autocommit")
	dep.want("00 00 00 0000 0000 00")
	dep.command("\x03warn")
	dep.want("00 00 00 0000 0100 00")
}

func TestPreparedPackets(t *testing.T) {
	ts := startServer(t, nil, nil)
	const defParam = "03'def' 00 00 00 01'?' 00 0c 3f00 00000000 fd 0000 00 0000"
	c := dialRaw(t, ts)
	c.login(capsPlain)
	c.command("\x16rows 1 2 -- ?") // the mark is in a comment
	c.want("00 01000000 0200 0000 00 0000", defN, defS, "fe 0000 0200")
	c.command("\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00")
	c.want("02", defN, defS, "fe 0000 0200", "00 00 0000000000000000 02'xx'", "fe 0000 0200")

	c.command("\x16insert ?, ?")
	c.want("00 02000000 0000 0200 00 0000", defParam, defParam, "fe 0000 0200")
	c.command("\x17\x02\x00\x00\x00\x00\x01\x00\x00\x00\x01\x01\x08\x00\x01\x00\x07") // NULL and a TINY
	c.want("00 03 00 0200 0000 0a'Records: 3'")

	d := dialRaw(t, ts)
	d.login(capsDEP)
	d.command("\x16insert ?")
	d.want("00 01000000 0000 0100 00 0000", defParam)
	d.command("\x19\x01\x00\x00\x00") // close has no answer
	d.command("\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00")
	d.wantERR(1243, "HY000")
}

func TestParameterTypesAreKept(t *testing.T) {
	c := dialRaw(t, startServer(t, nil, nil))
	c.login(capsDEP)
	c.command("\x16echo ?, ?")
	for range 1 + 2 + 1 {
		c.read()
	}
	execute := "\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00"
	c.command(execute + "\x00\x00\x05\x00\x00\x00\x01x") // no types yet
	c.wantERR(1210, "HY000")
	c.command(execute + "\x00\x01\x02\x80\xfd\x00" + "\xff\xff\x01x")
	c.readRow("00 00 07'2:65535' 03'5:x'")
	c.command(execute + "\x00\x00" + "\x01\x00\x01y")
	c.readRow("00 00 03'2:1' 03'5:y'")
	c.command("\x18\x01\x00\x00\x00\x01\x00lo")
	c.command("\x18\x01\x00\x00\x00\x01\x00ng")
	c.command(execute + "\x00\x00" + "\x02\x00")
	c.readRow("00 00 03'2:2' 06'5:long'")
	c.command(execute + "\x02\x00" + "\x03\x00") // long data is used once
	c.readRow("00 08 03'2:3'")
	c.command("\x18\x01\x00\x00\x00\x09\x00x")
	c.command(execute + "\x02\x00" + "\x03\x00")
	c.wantERR(1210, "HY000")
	c.command("\x1a\x01\x00\x00\x00")
	c.want("00 00 00 0200 0100 00")
}

// readRow reads a result of two columns and one row.
func (c *rawClient) readRow(row string) {
	c.t.Helper()
	c.want("02")
	c.read()
	c.read()
	c.want(row, "fe 00 00 0200 0000 00")
}

func TestCursor(t *testing.T) {
	for _, tt := range []struct {
		caps                     uint32
		open, more, last, noRows string
	}{
		{capsPlain, "fe 0000 4200", "fe 0000 4200", "fe 0000 8200", ""},
		{capsDEP, "fe 00 00 4200 0000 00", "fe 00 00 4200 0000 00", "fe 00 00 8200 0000 00", ""},
	} {
		c := dialRaw(t, startServer(t, nil, nil))
		c.login(tt.caps)
		prepared := 3
		if tt.caps == capsPlain {
			prepared = 4
		}
		for i, n := range []string{"0", "1", "100"} {
			id := string(rune('\x01' + i))
			c.command("\x16rows " + n + " 1")
			for range prepared {
				c.read()
			}
			c.command("\x17" + id + "\x00\x00\x00\x01\x01\x00\x00\x00")
			c.want("02", defN, defS, tt.open)
		}
		fetch := func(id, n string) { c.command("\x1c" + id + "\x00\x00\x00" + n + "\x00\x00\x00") }
		fetch("\x01", "\x05")
		c.want(tt.last)
		fetch("\x01", "\x05")
		c.wantERR(1421, "HY000")
		fetch("\x02", "\x01")
		c.want("00 00 0000000000000000 01'x'", tt.more)
		fetch("\x02", "\x01")
		c.want(tt.last)
		fetch("\x03", "\x02")
		c.want("00 00 0000000000000000 01'x'", "00 00 0100000000000000 01'x'", tt.more)
		c.command("\x0e") // other commands go on meanwhile
		c.read()
		fetch("\x03", "\x62") // 98 more
		for range 98 {
			c.read()
		}
		c.want(tt.more)
		fetch("\x03", "\x01")
		c.want(tt.last)
	}
}

func TestCursorOfAFailingStatementAndLeftOpen(t *testing.T) {
	ts := startServer(t, nil, nil)
	c := dialRaw(t, ts)
	c.login(capsDEP)
	c.command("\x16failing")
	c.read()
	c.read()
	c.command("\x17\x01\x00\x00\x00\x01\x01\x00\x00\x00")
	c.read()
	c.read()
	c.want("fe 00 00 4200 0000 00")
	c.command("\x1c\x01\x00\x00\x00\x05\x00\x00\x00")
	c.want("00 00 01'1'")
	c.wantERR(1054, "42S22")

	c.command("\x16hang")
	c.read()
	c.read()
	c.command("\x17\x02\x00\x00\x00\x01\x01\x00\x00\x00")
	<-ts.hanging
	c.read()
	c.read()
	c.want("fe 00 00 4200 0000 00")
	c.command("\x19\x02\x00\x00\x00")
	if err := <-ts.ended; err == nil {
		t.Error("closing a statement did not end its cursor")
	}
	c.command("\x0e")
	c.want("00 00 00 0200 0000 00")
}

func TestCommands(t *testing.T) {
	c := dialRaw(t, startServer(t, nil, nil))
	c.login(capsDEP)
	c.command("\x02shop")
	c.want("00 00 00 0200 0000 00")
	c.command("\x02nowhere")
	c.wantERR(1049, "42000")
	c.command("\x04t\x00")
	c.want("03'def' 00 00 00 02'id' 00 0c 3f00 0b000000 03 0000 00 0000 fb",
		"03'def' 00 00 00 04'name' 00 0c 2d00 fc030000 fc 1000 00 0000 fb", "fe 00 00 0200 0100 00")
	c.command("\x04t\x00n%")
	c.want("03'def' 00 00 00 04'name' 00 0c 2d00 fc030000 fc 1000 00 0000 fb", "fe 00 00 0200 0100 00")
	c.command("\x04zzz\x00")
	c.wantERR(1146, "42S02")
	c.command("\x09")
	if s := string(c.read()); !strings.HasPrefix(s, "Uptime: 0  Threads: 1  Questions: 6  ") {
		t.Errorf("statistics: %q", s)
	}
	c.command("\x1b\x01\x00")
	c.want("fe 00 00 0200 0200 00")
	c.command("\x1b\x00\x00")
	c.wantERR(1235, "42000")
	c.command("\x16insert")
	c.read()
	c.command("\x1f")
	c.want("00 00 00 0200 0000 00")
	c.command("\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00")
	c.wantERR(1243, "HY000")
	for _, unknown := range []string{"\x05", "\x0a", "\x0d", "\x12", "\xfa", "\xff"} {
		c.command(unknown)
		c.wantERR(1047, "08S01")
	}
	for _, malformed := range []string{"", "\x17\x01", "\x1c", "\x1b", "\x0c\x01", "\x1a\x00"} {
		c.command(malformed)
		c.wantERR(1835, "HY000")
	}
	c.command("\x0c\x63\x00\x00\x00")
	c.wantERR(1094, "HY000")
	c.command("\x01")
	c.wantClosed()
}

func TestMalformedExecute(t *testing.T) {
	c := dialRaw(t, startServer(t, nil, nil))
	c.login(capsDEP)
	c.command("\x16insert ?")
	c.read()
	c.read()
	execute := "\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00"
	for _, tail := range []string{"", "\x00", "\x00\x01", "\x00\x01\x08", "\x00\x01\x08\x00\x01", "\x00\x01\xfd\x00\x05abc", "\x00\x01\x0a\x00\x05abcde", "\x00\x01\xfd\x00\xfe\xff\xff\xff\xff\xff\xff\xff\xff"} {
		c.command(execute + tail)
		c.wantERR(1835, "HY000")
	}
	c.command(execute + "\x00\x01\x63\x00\x01")
	c.wantERR(1210, "HY000")
	c.command(execute + "\x00\x01\xf6\x00\x031;2")
	c.wantERR(1292, "22007")
	c.command(execute + "\x00\x01\x01\x00\x01")
	c.want("00 03 00 0200 0000 0a'Records: 3'")
}
