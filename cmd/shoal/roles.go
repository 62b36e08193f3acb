package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	beserver "shoal/be/server"
	feserver "shoal/fe/server"
	"shoal/internal/clientprops"
	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
	"shoal/internal/warehouse"
)

// defaultSlots is how many tasks a backend runs at a time.
const defaultSlots = 16

// soonAgain is how long a frontend must have run to be started again after it
// ended by itself.
const soonAgain = 10 * time.Second

// settings are the flags of the roles.
type settings struct {
	dataDir, warehouse, host               string
	secretsDir, tlsDir, tokenFile          string
	mysqlAddr, httpAddr, rpcAddr, raftAddr string
	bootstrap                              bool
	frontends, join                        []string
	slots                                  int
	cacheMiB                               int64
	memLimit                               string
	trashExpire                            time.Duration
	dieAfterCommits, dieAfterDeliveries    int
	log                                    io.Writer // stderr if nil
}

// commonFlags are those of every role. Each role listens on loopback unless
// told otherwise.
func (s *settings) commonFlags(cmd *cobra.Command, httpPort, rpcPort int) {
	f := cmd.Flags()
	f.StringVar(&s.dataDir, "data-dir", "data", "`folder` for all that this process keeps")
	f.StringVar(&s.secretsDir, "secrets-dir", os.Getenv(clientprops.FolderVariable), "`folder` of the files that ${file:PATH} in property.* of jobs may read; without it none")
	f.StringVar(&s.tlsDir, "tls-dir", "", tlsDirUsage)
	f.StringVar(&s.tokenFile, "cluster-token-file", "", "`file` with a secret that all nodes of the cluster have, mode 0600 (default "+nodetls.TokenFile+" in --tls-dir, if it is there)")
	f.StringVar(&s.host, "advertise-host", "127.0.0.1", "`host` under which others reach this process")
	f.StringVar(&s.httpAddr, "http-addr", fmt.Sprintf("127.0.0.1:%d", httpPort), "listen `address` for /health")
	f.StringVar(&s.rpcAddr, "rpc-addr", fmt.Sprintf("127.0.0.1:%d", rpcPort), "listen `address` for gRPC")
	f.IntVar(&s.dieAfterCommits, "die-after-commits", 0, "for tests: die when the n-th txn was committed, a frontend before it answers, a backend before it acknowledges")
	f.MarkHidden("die-after-commits")
}

func (s *settings) frontendFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.warehouse, "warehouse", "", "`URI` of the folder of rowsets, of a new cluster: file:///path or s3://bucket/prefix (default file://<data-dir>/warehouse)")
	f.DurationVar(&s.trashExpire, "trash-expire", time.Hour, "how `long` a file that nobody needs stays in the warehouse")
	f.StringVar(&s.mysqlAddr, "mysql-addr", "127.0.0.1:9030", "listen `address` for MySQL clients")
	f.StringVar(&s.raftAddr, "raft-addr", "127.0.0.1:9010", "listen `address` for the other frontends")
}

func (s *settings) backendFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&s.slots, "slots", defaultSlots, "tasks that run at a time (Doris: max_routine_load_task_num_per_be)")
	f.StringVar(&s.memLimit, "mem-limit", "60%", "`share` of the machine's memory (or of the control group's) that a backend may take, or bytes such as 4G")
	f.Int64Var(&s.cacheMiB, "warehouse-cache-mib", 20<<10, "`MiB` of disk for copies of files of a warehouse on S3; one query must find room for all files that it reads")
	f.IntVar(&s.dieAfterDeliveries, "die-after-deliveries", 0, "for tests: die when dead letters were produced for the n-th time, before the frontend hears it")
	f.MarkHidden("die-after-deliveries")
}

func frontendCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use: "fe", Short: "Run a frontend: SQL, jobs, transactions, replicated state", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), true, false, nil) },
	}
	s.commonFlags(cmd, 8030, 9020)
	s.frontendFlags(cmd)
	cmd.Flags().BoolVar(&s.bootstrap, "bootstrap", false, "make a new cluster if the data folder holds none")
	cmd.Flags().StringSliceVar(&s.join, "join", nil, "rpc `addresses` of frontends of the cluster to join if the data folder holds no frontend")
	cmd.MarkFlagsMutuallyExclusive("bootstrap", "join")
	return cmd
}

func backendCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use: "be", Short: "Run a backend: tasks, rowsets, queries", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), false, true, nil) },
	}
	s.commonFlags(cmd, 8040, 9060)
	s.backendFlags(cmd)
	cmd.Flags().StringVar(&s.warehouse, "warehouse", "", "`URI` of the folder of rowsets, to be sure that it is the cluster's (default the cluster's)")
	cmd.Flags().StringSliceVar(&s.frontends, "fe", []string{"127.0.0.1:9020"}, "rpc `addresses` of frontends")
	return cmd
}

func standaloneCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use: "standalone", Short: "Run one frontend and one backend in a process", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.runStandalone(cmd.Context(), nil) },
	}
	s.standaloneFlags(cmd)
	return cmd
}

func (s *settings) standaloneFlags(cmd *cobra.Command) {
	s.commonFlags(cmd, 8030, 9020)
	s.frontendFlags(cmd)
	s.backendFlags(cmd)
}

func (s *settings) runStandalone(ctx context.Context, ready func(addresses)) error {
	s.bootstrap = true
	return s.run(ctx, true, true, ready)
}

// check refuses what no process can work with.
func (s *settings) check(fe, be bool) error {
	if s.dataDir == "" {
		return errors.New("--data-dir is empty")
	}
	if s.host == "" || strings.ContainsAny(s.host, " /") || net.ParseIP(s.host) == nil && strings.Contains(s.host, ":") {
		return fmt.Errorf("--advertise-host: %q is no host", s.host)
	}
	if s.warehouse != "" {
		if err := warehouse.CheckURI(s.warehouse); err != nil {
			return fmt.Errorf("--warehouse: %w", err)
		}
	}
	if fe && s.trashExpire < 0 {
		return fmt.Errorf("--trash-expire must not be negative, it is %s", s.trashExpire)
	}
	if err := checkAddresses("join", s.join); err != nil || !be {
		return err
	}
	if s.cacheMiB < 1 {
		return fmt.Errorf("--warehouse-cache-mib must be at least 1, not %d", s.cacheMiB)
	}
	if s.slots < 1 {
		return fmt.Errorf("--slots must be at least 1, not %d", s.slots)
	}
	if !fe && len(s.frontends) == 0 {
		return errors.New("--fe names no frontend")
	}
	return checkAddresses("fe", s.frontends)
}

// addresses are where a process serves; empty where it does not.
type addresses struct{ mysql, http, rpc, raft string }

// run runs the roles in one process until ctx ends. A frontend whose log could not
// be written, because of a full disk most likely, is opened again once there is
// room, as if the process had been started anew: until then it answers nobody,
// and where there are others they go on without it.
func (s *settings) run(ctx context.Context, fe, be bool, ready func(addresses)) error {
	for {
		began := time.Now()
		err := s.runOnce(ctx, fe, be, ready)
		if ctx.Err() != nil || !fe || !feserver.Recovers(err) {
			return err
		}
		full := false
		log := slog.New(slog.NewJSONHandler(s.logWriter(), nil))
		feserver.AwaitRoom(ctx, filepath.Join(s.dataDir, "fe"), func(why error) {
			full = true
			log.Error("the frontend has ended and waits for room", "reason", why, "err", err)
		})
		if !full && time.Since(began) < soonAgain {
			return err // it is not for want of room
		}
		log.Warn("the frontend starts again", "after", err)
	}
}

// runOnce runs the roles once. One gRPC and one http server serve both.
func (s *settings) runOnce(ctx context.Context, fe, be bool, ready func(addresses)) error {
	if err := s.check(fe, be); err != nil {
		return err
	}
	if err := s.setSecrets(); err != nil {
		return err
	}
	dir, err := filepath.Abs(s.dataDir)
	if err != nil {
		return err
	}
	s.dataDir = dir
	log := slog.New(slog.NewJSONHandler(s.logWriter(), nil))
	tls, err := s.openTLS(log)
	if err != nil {
		return err
	}
	token, err := s.readToken()
	if err != nil {
		return err
	}
	p := &process{settings: s, log: log, tls: tls, token: token, grpc: grpc.NewServer(rpcconn.ServerOptions(tls, token)...), onReady: ready}
	defer p.close()
	if err := p.listen(fe); err != nil {
		return err
	}
	if fe {
		if err := p.openFrontend(ctx); err != nil && errors.Is(err, ctx.Err()) {
			return nil // told to end before there was anything to end
		} else if err != nil {
			return err
		}
	}
	if be {
		tuneCollector()
		if err := p.openBackend(); err != nil {
			return err
		}
	}
	return p.serve(ctx)
}

// setSecrets makes the secrets folder known where references are read.
func (s *settings) setSecrets() error {
	if s.secretsDir == "" {
		return nil
	}
	dir, err := filepath.Abs(s.secretsDir)
	if err != nil {
		return err
	}
	return os.Setenv(clientprops.FolderVariable, dir)
}

// openTLS reads the node's certificates, if it has any.
func (s *settings) openTLS(log *slog.Logger) (*nodetls.Credentials, error) {
	if s.tlsDir == "" {
		return nil, nil
	}
	tls, err := nodetls.Open(s.tlsDir, log)
	if err != nil {
		return nil, fmt.Errorf("--tls-dir: %w", err)
	}
	if err := tls.CheckHost(s.host); err != nil {
		return nil, fmt.Errorf("--advertise-host: %w", err)
	}
	return tls, nil
}

// readToken reads the cluster's token, if there is one.
func (s *settings) readToken() (token nodetls.Token, err error) {
	switch {
	case s.tokenFile != "":
		token, err = nodetls.ReadToken(s.tokenFile)
		if err != nil {
			err = fmt.Errorf("--cluster-token-file: %w", err)
		}
	case s.tlsDir != "":
		token, err = nodetls.TokenIn(s.tlsDir)
		if err != nil {
			err = fmt.Errorf("--tls-dir: %w", err)
		}
	}
	return token, err
}

func (s *settings) logWriter() io.Writer {
	if s.log == nil {
		return os.Stderr
	}
	return s.log
}

// process is the roles of this process and what they share.
type process struct {
	*settings
	log              *slog.Logger
	tls              *nodetls.Credentials // nil for connections in clear
	token            nodetls.Token
	grpc             *grpc.Server
	rpc, http, mysql net.Listener
	raft             net.Listener // owned by fe
	fe               *feserver.Server
	be               *beserver.Server
	onReady          func(addresses)
}

func (p *process) listen(fe bool) (err error) {
	if p.rpc, err = listen("rpc", p.rpcAddr); err != nil {
		return err
	}
	if p.tls == nil {
		if err := plainAllowed("rpc", p.rpc); err != nil {
			return err
		}
	}
	if p.http, err = listen("http", p.httpAddr); err != nil {
		return err
	}
	if !fe {
		return nil
	}
	if p.mysql, err = listen("mysql", p.mysqlAddr); err != nil {
		return err
	}
	if p.raft, err = listen("raft", p.raftAddr); err == nil && p.tls == nil {
		err = plainAllowed("raft", p.raft)
	}
	return err
}

func (p *process) close() {
	for _, lis := range []net.Listener{p.rpc, p.http, p.mysql, p.raft} {
		if lis != nil {
			lis.Close()
		}
	}
	if p.fe != nil {
		if err := p.fe.Close(); err != nil {
			p.log.Error("closing the replicated log", "err", err)
		}
	}
}

func (p *process) openFrontend(ctx context.Context) (err error) {
	p.fe, err = feserver.Open(ctx, feserver.Config{
		DataDir: filepath.Join(p.dataDir, "fe"), Warehouse: p.warehouse, NewWarehouse: "file://" + filepath.Join(p.dataDir, "warehouse"),
		TrashExpire: p.trashExpire, Bootstrap: p.bootstrap, Join: p.join, Host: p.host, MySQLPort: port(p.mysql), HTTPPort: port(p.http), RPCPort: port(p.rpc), TLS: p.tls, Token: p.token, Raft: p.raft, Version: version, Logger: p.log,
		AfterCommit: dieAfter(p.dieAfterCommits),
	})
	if err == nil {
		p.fe.Register(p.grpc)
	}
	return err
}

func (p *process) openBackend() (err error) {
	frontends := p.frontends
	if p.fe != nil { // by the name that the certificate is for
		frontends = []string{net.JoinHostPort(p.host, strconv.Itoa(int(port(p.rpc))))}
	}
	config := beserver.Config{
		DataDir: filepath.Join(p.dataDir, "be"), Frontends: frontends, TLS: p.tls, Token: p.token, Warehouse: p.warehouse, MemoryLimit: p.memLimit, CacheBytes: p.cacheMiB << 20, Host: p.host, RPCPort: port(p.rpc),
		HTTPPort: port(p.http), Slots: p.slots, Threads: runtime.NumCPU(), Version: version, Logger: p.log,
		AfterDelivery: dieAfter(p.dieAfterDeliveries),
	}
	if die := dieAfter(p.dieAfterCommits); die != nil {
		config.AfterCommit = func(string) { die() }
	}
	if p.be, err = beserver.New(config); err == nil {
		p.be.Register(p.grpc)
	}
	return err
}

// serve runs everything until ctx ends or a part fails: then the backend drains
// while the frontend still takes its commits, then the frontend ends, then the
// servers.
func (p *process) serve(ctx context.Context) error {
	servers, stopServers := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServers()
	frontend, stopFrontend := context.WithCancel(servers)
	defer stopFrontend()
	backend, stopBackend := context.WithCancel(ctx)
	defer stopBackend()

	var serving, leading errgroup.Group
	serving.Go(func() error { defer stopBackend(); return serveGRPC(servers, p.grpc, p.rpc) })
	serving.Go(func() error { defer stopBackend(); return serveHTTP(servers, p.http) })
	feReady := make(chan struct{})
	leading.Go(func() error { defer stopBackend(); return p.runFrontend(frontend, feReady) })

	err := p.runBackend(backend, feReady)
	stopFrontend()
	err = errors.Join(err, leading.Wait())
	stopServers()
	return errors.Join(err, serving.Wait())
}

// runFrontend runs the frontend, if there is one, until ctx ends.
func (p *process) runFrontend(ctx context.Context, ready chan<- struct{}) error {
	if p.fe == nil {
		close(ready)
		<-ctx.Done()
		return nil
	}
	return p.fe.Run(ctx, p.mysql, func() { close(ready) })
}

// runBackend runs the backend, if there is one, once the frontend is ready,
// until ctx ends. One that never comes to run gives back what it took all the same.
func (p *process) runBackend(ctx context.Context, feReady <-chan struct{}) error {
	select {
	case <-ctx.Done():
	case <-feReady:
	}
	switch {
	case p.be != nil:
		return p.be.Run(ctx, p.ready)
	case ctx.Err() == nil:
		p.ready()
		<-ctx.Done()
	}
	return nil
}

// ready tells that the process serves, and where.
func (p *process) ready() {
	a := addresses{http: p.http.Addr().String(), rpc: p.rpc.Addr().String()}
	if p.fe != nil {
		a.mysql, a.raft = p.mysql.Addr().String(), p.raft.Addr().String()
	}
	p.log.Info("ready", "mysql_addr", a.mysql, "http_addr", a.http, "rpc_addr", a.rpc, "raft_addr", a.raft, "version", version)
	if p.onReady != nil {
		p.onReady(a)
	}
}

// dieAfter ends the process without any clean-up at its n-th call. It is nil for
// 0.
func dieAfter(n int) func() {
	if n == 0 {
		return nil
	}
	var calls atomic.Int64
	return func() {
		if calls.Add(1) == int64(n) {
			os.Exit(137)
		}
	}
}
