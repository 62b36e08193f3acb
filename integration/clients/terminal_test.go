package clients

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// limit is how long a shell may take for an answer: generous, for a busy
// machine.
const limit = 60 * time.Second

// terminal is a program that runs on a terminal of its own.
type terminal struct {
	t      *testing.T
	master *os.File
	output chan []byte
	unread []byte
}

func startTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	master, slave, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.Env = append(os.Environ(), "TERM=dumb", "MYSQL_HISTFILE=/dev/null")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, master: master, output: make(chan []byte)}
	ended := make(chan struct{})
	go term.read(ended)
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		master.Close()
		close(ended)
	})
	return term
}

// openTerminal makes a pseudo terminal: what a program has as its terminal is
// the slave.
func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
	}
	return master, slave, err
}

// read hands on what the program prints until it ends.
func (term *terminal) read(ended <-chan struct{}) {
	defer close(term.output)
	for {
		buf := make([]byte, 4096)
		n, err := term.master.Read(buf)
		if err != nil { // the last of the program's side was closed
			return
		}
		select {
		case term.output <- buf[:n]:
		case <-ended:
			return
		}
	}
}

func (term *terminal) say(line string) { term.press(line + "\n") }

// press sends keys without an end of line.
func (term *terminal) press(keys string) {
	term.t.Helper()
	if _, err := io.WriteString(term.master, keys); err != nil {
		term.t.Fatal(err)
	}
}

// expect reads until the patterns have come, in this order.
func (term *terminal) expect(patterns ...string) {
	term.t.Helper()
	timeout := time.After(limit)
	for _, pattern := range patterns {
		wanted := regexp.MustCompile(pattern)
		for !term.found(wanted) {
			select {
			case more, ok := <-term.output:
				if !ok {
					term.t.Fatalf("the shell ended before %q, after\n%s", pattern, term.unread)
				}
				term.unread = append(term.unread, more...)
			case <-timeout:
				term.t.Fatalf("no %q in\n%s", pattern, term.unread)
			}
		}
	}
}

// found drops the output up to the end of the pattern, if it is there.
func (term *terminal) found(pattern *regexp.Regexp) bool {
	at := pattern.FindIndex(term.unread)
	if at != nil {
		term.unread = term.unread[at[1]:]
	}
	return at != nil
}
