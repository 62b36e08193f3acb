package integration

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
)

// TestMutualTLS: frontend and backend with certificates of one authority load a
// topic, renew them while they run, and serve operators; who has certificates
// of another authority, or none, is refused and told why.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	broker := testkafka.Shared(t)
	certs, foreign := filepath.Join(t.TempDir(), "certs"), filepath.Join(t.TempDir(), "certs")
	mustShoal(t, "certs", "--out", certs, "--host", "127.0.0.1")
	mustShoal(t, "certs", "--out", foreign, "--host", "127.0.0.1")
	node, operator := filepath.Join(certs, "127.0.0.1"), filepath.Join(certs, "operator")

	fe := cluster.Start(t, "fe", "--bootstrap", "--tls-dir", node)
	cluster.Start(t, "be", "--fe", fe.Ready.RPC, "--tls-dir", node)
	l := setUp(t, fe.DB(), broker, options{partitions: 2, properties: map[string]string{"format": "json"}})
	client := l.client()
	l.produce(client, 0, row(0, 0), row(1, 0))
	l.waitRows(2)

	mustShoal(t, "certs", "--out", certs, "--host", "127.0.0.1") // renewed
	late := cluster.Start(t, "be", "--fe", fe.Ready.RPC, "--tls-dir", node)
	if !strings.Contains(fe.Log(), "certificates were read again") {
		t.Errorf("the frontend has not read its new certificates:\n%s", fe.Log())
	}
	l.produce(client, 1, row(2, 1), row(3, 1))
	l.waitRows(4)
	l.checkIDs(4)
	l.checkLedger()

	cluster.Eventually(t, limit, func() error {
		out := mustShoal(t, "admin", "nodes", "--fe", fe.Ready.RPC, "--tls-dir", operator)
		if strings.Count(out, "true") != 4 { // three alive, one of them leads
			return fmt.Errorf("nodes:\n%s", out)
		}
		return nil
	})
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"in clear", nil, "if it uses TLS, give --tls-dir"},
		{"other authority", []string{"--tls-dir", filepath.Join(foreign, "operator")}, "is signed by authority"},
		{"no folder", []string{"--tls-dir", certs}, "tls.crt is missing"},
	} {
		if out, err := shoal(t, append([]string{"sql", "SELECT 1", "--fe", fe.Ready.RPC}, tt.args...)...); err == nil || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %v, %q; want %q", tt.name, err, out, tt.want)
		}
	}
	late.Stop()
	refusedBackend(t, fe, filepath.Join(foreign, "127.0.0.1"))

	stranger := filepath.Join(t.TempDir(), "stranger") // of the same authority, and another cluster
	if err := os.CopyFS(stranger, os.DirFS(node)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(filepath.Join(stranger, "tls.key"), 0o600), os.Remove(filepath.Join(stranger, "cluster.token")),
		os.WriteFile(filepath.Join(stranger, "cluster.token"), []byte("0123456789abcdef"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := cluster.New(t, "be", "--fe", fe.Ready.RPC, "--tls-dir", stranger).TryRun(); err == nil || !strings.Contains(err.Error(), "another cluster.token") {
		t.Errorf("a backend with another token started, or said %v", err)
	}
}

// refusedBackend starts a backend that the frontend does not let in, and wants
// both to say so.
func refusedBackend(t *testing.T, fe *cluster.Process, certs string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	be := exec.CommandContext(ctx, cluster.Binary(t), "be", "--data-dir", t.TempDir(), "--fe", fe.Ready.RPC, "--tls-dir", certs,
		"--rpc-addr", cluster.FreeAddr(t), "--http-addr", cluster.FreeAddr(t))
	log, err := be.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := be.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(log).ReadString('\n')
	cancel()
	be.Wait()
	if err != nil || !strings.Contains(line, "waiting for a frontend to join") || !strings.Contains(line, "is signed by authority") {
		t.Errorf("the refused backend's first line is %q, %v", line, err)
	}
	cluster.Eventually(t, limit, func() error {
		if log := fe.Log(); !strings.Contains(log, "a connection is refused") {
			return fmt.Errorf("the frontend's log does not tell of the refusal:\n%s", log)
		}
		return nil
	})
}

// TestTLSStartRefusals: without certificates no role listens where others could
// reach it, and a certificate must be the host's.
func TestTLSStartRefusals(t *testing.T) {
	t.Parallel()
	certs := filepath.Join(t.TempDir(), "certs")
	mustShoal(t, "certs", "--out", certs, "--host", "fe1.example.com")
	for _, tt := range []struct {
		name string
		p    *cluster.Process
		want string
	}{
		{"in clear on all addresses", cluster.New(t, "fe", "--bootstrap", "--rpc-addr", net.JoinHostPort("0.0.0.0", "0")), "--rpc-addr: what is in clear is for loopback only"},
		{"certificate of another host", cluster.New(t, "fe", "--bootstrap", "--tls-dir", filepath.Join(certs, "fe1.example.com")), "is for fe1.example.com and not for 127.0.0.1"},
		{"operator's certificate", cluster.New(t, "be", "--tls-dir", filepath.Join(certs, "operator")), "operator's certificate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.p.TryRun(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("started, or said %v; want %s", err, tt.want)
			}
		})
	}
}
