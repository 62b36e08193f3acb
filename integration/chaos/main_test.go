package chaos

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

var (
	minutes    = flag.Int("minutes", 2, "how long faults go on")
	seed       = flag.Uint64("seed", 1, "of the first round; each round has the next one")
	keep       = flag.Bool("keep", false, "keep the logs of a run without failures, too")
	onLoopback = flag.Bool("loopback", false, "do without network namespaces")
)

// within is set in the environment of the binary that runs in namespaces of its
// own. It exits with noNetwork if it can do nothing with them.
const (
	within    = "SHOAL_CHAOS_WITHIN"
	noNetwork = 90
)

// field is where the nodes are, once TestMain has found out.
var field network = loopback{"-loopback was asked for"}

// TestMain runs the tests in a copy of this binary that has namespaces of its
// own, where that is possible.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(within) != "" {
		bridged, err := newBridge()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(noNetwork)
		}
		field = bridged
		os.Exit(m.Run())
	}
	if !*onLoopback {
		code, err := runWithin()
		if err == nil && code != noNetwork {
			os.Exit(code)
		}
		field = loopback{fmt.Sprintf("namespaces are not to be had (%v, see above)", err)}
	}
	os.Exit(m.Run())
}

// runWithin runs this binary again, as the root of a user, a network and a
// mount namespace that end with it, and returns how it exited.
func runWithin() (code int, err error) {
	runtime.LockOSThread() // Pdeathsig is about the thread that starts the process
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), within+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}
