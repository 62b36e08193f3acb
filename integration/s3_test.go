package integration

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"shoal/integration/cluster"
	"shoal/internal/testkafka"
	"shoal/internal/tests3"
)

// startOnS3 starts a standalone whose warehouse is in a bucket.
func startOnS3(t *testing.T, uri string, args ...string) *cluster.Process {
	t.Helper()
	p := cluster.New(t, "standalone", append([]string{"--warehouse", uri}, args...)...)
	for _, kv := range tests3.Credentials() {
		p.Setenv(kv[0], kv[1])
	}
	p.Run()
	return p
}

// TestWarehouseOnS3: records come all the time while the process is killed with
// -9 in the middle of open txns, and while the S3 server is away, which the job
// says. No row is lost, none twice, and the ledger adds up. In the end the bucket
// has only what the state has.
func TestWarehouseOnS3(t *testing.T) {
	t.Parallel()
	broker, s3 := testkafka.Shared(t), tests3.Start(t)
	shoal := startOnS3(t, s3.Bucket("shoal", s3.URL), "--trash-expire", "1s")
	l := setUp(t, shoal.DB(), broker, options{partitions: 2, properties: map[string]string{"format": "json", "desired_concurrent_number": "6"}})
	ctx, stop := context.WithCancel(t.Context())
	produced, wait := l.produceUntil(ctx, 2)
	defer func() { stop(); wait() }()
	loading := func() {
		t.Helper()
		before, _ := l.count("count(*)")
		cluster.Eventually(t, limit, func() error {
			rows, err := l.count("count(*)")
			if err == nil && (rows <= before || l.openTxns() == 0) {
				err = fmt.Errorf("%d rows after %d, %d open txns: %s", rows, before, l.openTxns(), l.status()["OtherMsg"])
			}
			return err
		})
	}
	for range 3 {
		loading()
		shoal.Kill()
		shoal.Run()
	}
	loading()
	s3.Kill()
	cluster.Eventually(t, limit, func() error {
		if why := l.status()["OtherMsg"]; !strings.Contains(why, "s3://shoal/shoal") {
			return fmt.Errorf("the job does not say what is wrong: %q", why)
		}
		return nil
	})
	shoal.Kill()
	shoal.Run() // it starts without the S3 server, and waits for it
	s3.Run()
	loading()
	stop()
	wait()
	l.waitRows(produced.Load())
	l.checkIDs(produced.Load())
	l.checkLedger()
	bucket := filepath.Join(s3.Dir, "shoal")
	if n := rowsetFiles(t, bucket); n == 0 {
		t.Error("the bucket has no rowsets")
	}
	l.onlyItsFiles(bucket)
	noSecretIn(t, shoal.Dir)
}

// rowsetFiles is how many Parquet files are below a folder.
func rowsetFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".parquet" {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// noSecretIn looks for the S3 secret in everything that a process keeps.
func noSecretIn(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), tests3.SecretKey) {
			t.Errorf("the secret of S3 is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestS3Refusals: what only a person can put right ends the start with a reason,
// and no secret is repeated.
func TestS3Refusals(t *testing.T) {
	t.Parallel()
	s3 := tests3.Start(t)
	for _, tt := range []struct{ name, uri, secret, want string }{
		{"a secret in the URI", "s3://key:hush@bucket/x", tests3.SecretKey, "no user or password may stand in the URI"},
		{"no bucket", "s3://nowhere/x?endpoint=" + s3.URL, tests3.SecretKey, "there is no such bucket"},
		{"a wrong secret", s3.Bucket("refusals", s3.URL), "hush", "the secret does not fit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := cluster.New(t, "standalone", "--warehouse", tt.uri)
			for _, kv := range tests3.Credentials() {
				p.Setenv(kv[0], kv[1])
			}
			p.Setenv("AWS_SECRET_ACCESS_KEY", tt.secret)
			err := p.TryRun()
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("started, or said %v; want %q", err, tt.want)
			}
		})
	}
}

// TestCacheEviction: queries over tables that do not fit the cache together push
// each other's files out of it all the time, and each answers right.
func TestCacheEviction(t *testing.T) {
	t.Parallel()
	broker, s3 := testkafka.Shared(t), tests3.Start(t)
	uri := s3.Bucket("small", s3.URL)
	shoal := startOnS3(t, uri, "--warehouse-cache-mib", "1")
	const rows = 20_000
	db := shoal.DB()
	var tables []string
	for i := range 2 {
		tables = append(tables, loadNoise(t, db, broker, fmt.Sprintf("noise%d", i), rows))
	}
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			for range 10 {
				var n, length int64
				err := db.QueryRowContext(t.Context(), "SELECT count(DISTINCT name), sum(length(name)) FROM "+tables[i%2]).Scan(&n, &length)
				if err != nil || n != rows || length != 64*rows {
					t.Errorf("%s has %d names of %d letters, %v; want %d of 64 each", tables[i%2], n, length, err, rows)
				}
			}
		})
	}
	readers.Wait()
	err := mustFail(t, db, fmt.Sprintf("SELECT count(*) FROM %s a JOIN %s b ON a.id = b.id", tables[0], tables[1]))
	if !strings.Contains(err.Error(), "--warehouse-cache-mib") {
		t.Errorf("a query that needs more than the cache holds: %v", err)
	}
	var used int64
	copies, err := os.ReadDir(filepath.Join(shoal.Dir, "be", "warehouse", "cache"))
	for _, c := range copies {
		if info, err := c.Info(); err == nil {
			used += info.Size()
		}
	}
	if err != nil || used == 0 || used > 1<<20 {
		t.Errorf("the cache has %d files of %d bytes, %v", len(copies), used, err)
	}
}

// loadNoise loads a table of rows that do not compress below 32 bytes: more than
// half a mebibyte.
func loadNoise(t *testing.T, db *sql.DB, broker *testkafka.Broker, name string, rows int) (table string) {
	t.Helper()
	l := &load{t: t, db: db, broker: broker, topic: broker.CreateTopic(t, 1, nil), table: name + ".t"}
	l.exec("CREATE DATABASE " + name)
	l.exec(fmt.Sprintf(`CREATE TABLE %s (id BIGINT, part INT, name VARCHAR(64)) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 PROPERTIES("replication_num"="1")`, l.table))
	l.create(options{properties: map[string]string{"format": "json"}})
	l.produceMany(rows, 1, func(i int) []byte {
		return fmt.Appendf(nil, `{"id":%d,"part":0,"name":"%x"}`, i, sha256.Sum256(fmt.Append(nil, name, i)))
	})
	l.waitRows(int64(rows))
	return l.table
}
