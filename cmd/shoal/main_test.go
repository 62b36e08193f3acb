package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// Wrong use is an error that names the flag, before anything is started.
func TestWrongUse(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"nosuch", `unknown command "nosuch"`},
		{"admin nosuch", `unknown command "nosuch" for "shoal admin"`},
		{"admin jobs extra", `unknown command "extra"`},
		{"admin jobs --fe 127.0.0.1", `--fe: "127.0.0.1" is not host:port`},
		{"admin jobs --fe 127.0.0.1:1", "no frontend can be reached, see --fe: "},
		{"sql --fe 127.0.0.1:1 SELECT", "no frontend can be reached, see --fe: "},
		{"be --fe 127.0.0.1", `--fe: "127.0.0.1" is not host:port`},
		{"be --fe a:1,b:", `--fe: "b:" is not host:port`},
		{"be --fe=", "--fe names no frontend"},
		{"be --slots 0", "--slots must be at least 1, not 0"},
		{"standalone --slots -3", "--slots must be at least 1, not -3"},
		{"standalone --data-dir=", "--data-dir is empty"},
		{"demo --data-dir=", "--data-dir is empty"},
		{"fe --rpc-addr 0.0.0.0:0", "--rpc-addr: what is in clear is for loopback only, and "},
		{"fe --rpc-addr 127.0.0.1:0 --http-addr 127.0.0.1:0 --mysql-addr 127.0.0.1:0 --raft-addr 0.0.0.0:0", "--raft-addr: what is in clear is for loopback only, and "},
		{"fe --join nowhere", `--join: "nowhere" is not host:port`},
		{"fe --join 127.0.0.1:9020 --bootstrap", "[bootstrap join] were all set"},
		{"be --tls-dir /nowhere", "--tls-dir: /nowhere/ca.crt is missing: `shoal certs` makes it"},
		{"admin jobs --tls-dir /nowhere", "--tls-dir: /nowhere/ca.crt is missing: `shoal certs` makes it"},
		{"certs", "--host names no node"},
		{"certs --host a/b", `"a/b" is neither a host name nor an IP address`},
		{"fe --advertise-host=", `--advertise-host: "" is no host`},
		{"fe --advertise-host=host:9020", `--advertise-host: "host:9020" is no host`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			cmd := rootCommand()
			cmd.SetArgs(strings.Fields(tt.args))
			cmd.SetOut(io.Discard)
			if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// Where a frontend's settings are in the environment, as in a container, a snapshot
// is still that of the running cluster.
func TestSaveBesideAFrontend(t *testing.T) {
	t.Setenv("SHOAL_DATA_DIR", t.TempDir())
	cmd := rootCommand()
	cmd.SetArgs([]string{"admin", "snapshot", "save", filepath.Join(t.TempDir(), "s"), "--fe", "127.0.0.1:1"})
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "no frontend can be reached") {
		t.Errorf("error %v, want that of the frontend", err)
	}
}

// TestSaveToAMissingFolder: the error names the file that was asked for.
func TestSaveToAMissingFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "s")
	_, err := saveSnapshot(path, func(io.Writer) error { return nil })
	if want := "cannot make " + path + ": no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestPrintRow(t *testing.T) {
	var out strings.Builder
	printRow(&out, []string{"a\tb", "c\nd", `e\`})
	if got, want := out.String(), `a\tb`+"\t"+`c\nd`+"\t"+`e\\`+"\n"; got != want {
		t.Errorf("printRow = %q, want %q", got, want)
	}
}
