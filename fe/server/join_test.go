package server_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"shoal/fe/server"
)

// patience bounds what takes seconds when all is well.
const patience = time.Minute

// A frontend is one of several, at addresses that it keeps.
type frontend struct {
	t                *testing.T
	cfg              server.Config
	rpc, raft, mysql string
	end              func() error // ends it and returns why Run did
	ended            chan error
}

func newFrontend(t *testing.T, cfg server.Config) *frontend {
	t.Helper()
	cfg.DataDir, cfg.Host, cfg.Logger = t.TempDir(), "127.0.0.1", slog.New(slog.DiscardHandler)
	free := func() string { lis := listen(t); defer lis.Close(); return lis.Addr().String() }
	return &frontend{t: t, cfg: cfg, rpc: free(), raft: free(), mysql: free()}
}

func (f *frontend) listen(addr string) net.Listener {
	f.t.Helper()
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		f.t.Fatal(err)
	}
	return lis
}

// start runs the frontend until it serves, or returns why it does not.
func (f *frontend) start() error {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	cfg := f.cfg
	cfg.Raft = f.listen(f.raft)
	rpc, mysql := f.listen(f.rpc), f.listen(f.mysql)
	cfg.RPCPort, cfg.MySQLPort = uint32(rpc.Addr().(*net.TCPAddr).Port), uint32(mysql.Addr().(*net.TCPAddr).Port)
	s, err := server.Open(ctx, cfg)
	if err != nil {
		cancel()
		return errors.Join(err, rpc.Close(), mysql.Close())
	}
	services := grpc.NewServer()
	s.Register(services)
	go services.Serve(rpc)
	run, stop := context.WithCancel(f.t.Context())
	ready := make(chan struct{})
	f.ended = make(chan error, 1)
	go func() { f.ended <- s.Run(run, mysql, func() { close(ready) }) }()
	f.end = func() error {
		stop()
		err := <-f.ended
		services.Stop()
		if err := s.Close(); err != nil {
			f.t.Error(err)
		}
		cancel()
		return err
	}
	select {
	case <-ready:
		return nil
	case err := <-f.ended:
		f.ended <- err
		return errors.Join(err, f.end())
	case <-ctx.Done():
		return errors.Join(ctx.Err(), f.end())
	}
}

func (f *frontend) mustStart() *frontend {
	f.t.Helper()
	if err := f.start(); err != nil {
		f.t.Fatal(err)
	}
	return f
}

func (f *frontend) mustEnd() {
	f.t.Helper()
	if err := f.end(); err != nil {
		f.t.Error(err)
	}
}

// exec runs statements by the real driver.
func (f *frontend) exec(list ...string) {
	f.t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+f.mysql+")/")
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	for _, text := range list {
		if _, err := db.ExecContext(f.t.Context(), text); err != nil {
			f.t.Errorf("%s: %v", text, err)
		}
	}
}

// count is how many rows a statement answers.
func (f *frontend) count(text string) (n int) {
	f.t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+f.mysql+")/")
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(f.t.Context(), text)
	if err != nil {
		f.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		n++
	}
	return n
}

// key is the cluster's key that the frontend keeps.
func (f *frontend) key() string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.cfg.DataDir, "cluster.key"))
	if err != nil {
		f.t.Error(err)
	}
	return string(text)
}

func (f *frontend) wants(what string, err error, want string) {
	f.t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		f.t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// trio is three frontends, of which the others joined the first.
func trio(t *testing.T) (a, b, c *frontend) {
	t.Helper()
	a = newFrontend(t, server.Config{Bootstrap: true, NewWarehouse: "file://" + t.TempDir()}).mustStart()
	b = newFrontend(t, server.Config{Join: []string{"127.0.0.1:1", a.rpc}}).mustStart()
	c = newFrontend(t, server.Config{Join: []string{b.rpc}}).mustStart() // which names the leader
	return a, b, c
}

// TestJoin: who joins has the cluster's key, starts again by the same command,
// and serves what was sealed before when the first one is gone.
func TestJoin(t *testing.T) {
	a, b, c := trio(t)
	a.exec("CREATE DATABASE d", "CREATE FILE 'key.pem' IN d PROPERTIES ('catalog' = 'kafka', 'content' = 'secret')")
	if a.key() == "" || b.key() != a.key() || c.key() != a.key() {
		t.Error("the keys differ")
	}
	c.mustEnd()
	b.exec("CREATE DATABASE e")
	c.mustStart().exec("USE e")
	a.mustEnd() // hands over
	b.exec("CREATE DATABASE f")
	c.exec("USE f")
	a.mustStart().exec("USE f")
	for _, f := range []*frontend{a, b, c} {
		f.mustEnd()
	}
	// All of them at once, in another order.
	started := make(chan error)
	for _, f := range []*frontend{c, b, a} {
		go func() { started <- f.start() }()
	}
	for range 3 {
		if err := <-started; err != nil {
			t.Fatal(err)
		}
	}
	a.exec("USE f")
	for _, f := range []*frontend{a, b, c} {
		f.mustEnd()
	}
}

// TestWarehouseLost: a warehouse that is away, not mounted or with other
// credentials, ends no frontend that serves, whoever leads then. One that starts
// looks for it.
func TestWarehouseLost(t *testing.T) {
	a, b, c := trio(t)
	folder := strings.TrimPrefix(a.cfg.NewWarehouse, "file://")
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	a.mustEnd() // hands over
	b.exec("CREATE DATABASE d")
	c.exec("USE d")
	a.wants("without its warehouse", a.start(), "has no marker file")
	b.mustEnd()
	c.mustEnd()
}

// TestEmptiedFolder: it joins as another frontend, and a folder without its log
// is refused.
func TestEmptiedFolder(t *testing.T) {
	a, b, c := trio(t)
	c.mustEnd()
	if err := os.RemoveAll(filepath.Join(c.cfg.DataDir, "raft")); err != nil {
		t.Fatal(err)
	}
	c.wants("without its log", c.start(), "the log is gone")
	if err := os.RemoveAll(c.cfg.DataDir); err != nil {
		t.Fatal(err)
	}
	c.mustStart()
	b.mustEnd()
	c.exec("CREATE DATABASE d") // so it has a vote
	b.mustStart().exec("USE d")
	for _, f := range []*frontend{a, b, c} {
		f.mustEnd()
	}
}

// TestDropped: a frontend that is dropped ends, saying so, and is refused with
// and without its folder until it is added.
func TestDropped(t *testing.T) {
	a, b, c := trio(t)
	a.exec(`ALTER SYSTEM DROP FOLLOWER "` + c.raft + `"`)
	select {
	case err := <-c.ended:
		c.ended <- err
		c.wants("dropped", c.end(), "was dropped from the cluster")
	case <-time.After(patience):
		t.Fatal("a dropped frontend goes on")
	}
	c.wants("started again", c.start(), `ALTER SYSTEM ADD FOLLOWER (or OBSERVER) "`+c.raft+`"`)
	a.exec(`ALTER SYSTEM ADD FOLLOWER "` + c.raft + `"`)
	c.wants("added, with its folder", c.start(), "is no member of the cluster")
	a.exec(`ALTER SYSTEM DROP FOLLOWER "` + c.raft + `"`)
	if err := os.RemoveAll(c.cfg.DataDir); err != nil {
		t.Fatal(err)
	}
	a.exec(`ALTER SYSTEM ADD OBSERVER "` + c.raft + `"`)
	c.mustStart().exec("CREATE DATABASE d")
	for _, f := range []*frontend{a, b, c} {
		f.mustEnd()
	}
}

// says is what the frontend's folder says of it.
func (f *frontend) says(field string) string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.cfg.DataDir, "frontend.json"))
	var fields map[string]any
	err = errors.Join(err, json.Unmarshal(text, &fields))
	value, is := fields[field].(string)
	if err != nil || !is || value == "" {
		f.t.Errorf("%s has no %s: %v", text, field, err)
	}
	return value
}

// TestRefused: frontends that the cluster does not take, and why. One that tries
// again is the same one, and no other member each time.
func TestRefused(t *testing.T) {
	a := newFrontend(t, server.Config{Bootstrap: true, NewWarehouse: "file://" + t.TempDir()}).mustStart()
	other := newFrontend(t, server.Config{Bootstrap: true, NewWarehouse: "file://" + t.TempDir()}).mustStart()
	other.mustEnd()
	b := newFrontend(t, server.Config{Join: []string{a.rpc}, Warehouse: "file:///elsewhere"})
	b.wants("another warehouse", b.start(), "fixed at bootstrap")
	if got := a.count("SHOW FRONTENDS"); got != 1 {
		t.Errorf("%d frontends after a refused one", got)
	}
	id := b.says("frontend_id")
	b.cfg.Warehouse = ""
	if err := os.Rename(filepath.Join(other.cfg.DataDir, "cluster.key"), filepath.Join(b.cfg.DataDir, "cluster.key")); err != nil {
		t.Fatal(err)
	}
	b.wants("another key", b.start(), "give the frontend an empty data folder")
	if err := os.Remove(filepath.Join(b.cfg.DataDir, "cluster.key")); err != nil {
		t.Fatal(err)
	}
	nobody := newFrontend(t, server.Config{})
	nobody.wants("neither --bootstrap nor --join", nobody.start(), "start the first one of a cluster with --bootstrap, others with --join")
	b.mustStart().mustEnd()
	if b.says("frontend_id") != id {
		t.Errorf("it was %s and is %s", id, b.says("frontend_id"))
	}
	a.end() // one of two
}

// TestStranger: a frontend that was made a new cluster by mistake, at the address
// of one that lost its folder, ends no member: neither one that starts again nor
// one that runs.
func TestStranger(t *testing.T) {
	a, b, c := trio(t)
	a.mustEnd()
	if err := os.RemoveAll(a.cfg.DataDir); err != nil {
		t.Fatal(err)
	}
	b.cfg.Join, c.cfg.Join = []string{a.rpc}, []string{a.rpc}
	a.cfg.NewWarehouse = "file://" + t.TempDir()
	a.mustStart()
	b.mustEnd() // of two that are left of three: c has no leader until it is back
	select {
	case err := <-c.ended:
		t.Fatalf("a member that runs ended: %v", err)
	case <-time.After(12 * time.Second): // it asks after ten
	}
	b.mustStart().exec("CREATE DATABASE d")
	c.exec("USE d")
	for _, f := range []*frontend{c, a} {
		f.mustEnd()
	}
	b.end() // the last of three
}

// TestBootstrapRefused: a folder whose cluster was refused by the warehouse makes
// no other one unless it is told to, and joins as if it were new.
func TestBootstrapRefused(t *testing.T) {
	a := newFrontend(t, server.Config{Bootstrap: true, NewWarehouse: "file://" + t.TempDir()}).mustStart()
	b := newFrontend(t, server.Config{Bootstrap: true, Warehouse: a.cfg.NewWarehouse, NewWarehouse: "file://" + t.TempDir()})
	for range 2 {
		b.wants("a warehouse that is another cluster's", b.start(), "started with --join")
	}
	b.cfg.Bootstrap, b.cfg.Warehouse = false, ""
	b.wants("neither --bootstrap nor --join", b.start(), "holds no frontend of a cluster yet")
	b.cfg.Join = []string{a.rpc}
	a.exec("CREATE DATABASE d")
	b.mustStart().exec("USE d")
	b.mustEnd()
	b.cfg.Join = nil
	b.mustStart().exec("USE d") // which is a member now
	a.end()
	b.end()
}

// TestBootstrapInterrupted: --bootstrap goes on with the same cluster where it did
// not come to its end, and what it has made is made whatever the flags are.
func TestBootstrapInterrupted(t *testing.T) {
	warehouse := filepath.Join(t.TempDir(), "blocked")
	if err := os.WriteFile(warehouse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newFrontend(t, server.Config{Bootstrap: true, NewWarehouse: "file://" + warehouse})
	a.wants("a warehouse that cannot be made", a.start(), "no cluster is made")
	id := a.says("cluster_id")
	if err := os.Remove(warehouse); err != nil {
		t.Fatal(err)
	}
	a.mustStart().mustEnd()
	if got := a.says("cluster_id"); got != id {
		t.Errorf("it made cluster %s, and was about to make %s", got, id)
	}
	// As if it had died right after.
	interrupted := `{"frontend_id":"` + a.says("frontend_id") + `","cluster_id":"` + id + `","making":true}`
	if err := os.WriteFile(filepath.Join(a.cfg.DataDir, "frontend.json"), []byte(interrupted), 0o600); err != nil {
		t.Fatal(err)
	}
	a.cfg.Bootstrap, a.cfg.Join = false, []string{"127.0.0.1:1"}
	a.mustStart().mustEnd()
	if got := a.says("cluster_id"); got != id {
		t.Errorf("it is of cluster %s, and made %s", got, id)
	}
}
