package cluster

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// Usage is what the running process has taken of the machine so far.
type Usage struct {
	PeakRSS int64         // bytes of memory in use at most
	CPU     time.Duration // on all cores
}

// Usage reads what the kernel says of the process.
func (p *Process) Usage() Usage {
	p.t.Helper()
	var u Usage
	dir := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		if _, err := fmt.Sscanf(string(line), "VmHWM: %d kB", &u.PeakRSS); err == nil {
			u.PeakRSS <<= 10
			break
		}
	}
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		p.t.Fatal(err)
	}
	// What follows the name, which may hold anything in its brackets, begins
	// with field 3; user and system time are fields 14 and 15.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	for _, field := range fields[11:13] {
		ticks, err := strconv.Atoi(string(field))
		if err != nil {
			p.t.Fatal(err)
		}
		const tick = 10 * time.Millisecond // to user space, on every Linux
		u.CPU += time.Duration(ticks) * tick
	}
	return u
}
