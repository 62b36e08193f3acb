package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"shoal/internal/engine/native"
	"shoal/sql/duckdb"
)

// instance is a locked DuckDB with one connection.
type instance struct {
	db        *native.DB
	spill     string // folder of its own, empty for none
	unwatched chan struct{}
	watch     sync.WaitGroup
}

// open starts an instance that can read the files of the request only. It is
// interrupted when ctx ends.
func (e *Engine) open(ctx context.Context, req Request, zone timeZone) (*instance, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	in := &instance{unwatched: make(chan struct{})}
	if e.config.TempDir != "" {
		// DuckDB makes it when it is needed. Instances name their files alike and
		// would write into each other's.
		in.spill = filepath.Join(e.config.TempDir, fmt.Sprintf("query-%d", e.opened.Add(1)))
	}
	var err error
	if in.db, err = native.Open(e.settings(in.spill)); err != nil {
		return nil, fmt.Errorf("opening DuckDB: %w", err)
	}
	for _, setting := range locks(req, zone) {
		if err := in.db.Run("SET " + setting); err != nil {
			in.db.Close()
			return nil, fmt.Errorf("locking DuckDB, %s: %w", setting, err)
		}
	}
	in.watch.Go(func() { in.interruptAfter(ctx) })
	return in, nil
}

// settings hold before anything runs.
func (e *Engine) settings(spill string) map[string]string {
	return map[string]string{
		"threads":                      strconv.Itoa(max(e.config.Threads, 1)),
		"memory_limit":                 fmt.Sprintf("%dB", e.config.MemoryLimit),
		"temp_directory":               spill,
		"allow_persistent_secrets":     "false",
		"autoinstall_known_extensions": "false",
		"autoload_known_extensions":    "false",
		"allow_community_extensions":   "false",
	}
}

// locks are settings in the order in which DuckDB accepts them: the files that
// may be read, access to others off, then the lock.
func locks(req Request, zone timeZone) []string {
	var files []string
	for _, t := range req.Tables {
		for _, f := range t.files() {
			files = append(files, duckdb.QuoteString(f))
		}
	}
	return []string{
		"allowed_paths = [" + strings.Join(files, ", ") + "]",
		"enable_external_access = false",
		"TimeZone = " + duckdb.QuoteString(zone.duckDB),
		"lock_configuration = true",
	}
}

// interruptInterval is how often an interrupt is repeated: DuckDB forgets one
// when a statement begins.
const interruptInterval = 20 * time.Millisecond

// interruptAfter interrupts what runs after the end of ctx, until close.
func (in *instance) interruptAfter(ctx context.Context) {
	select {
	case <-in.unwatched:
		return
	case <-ctx.Done():
	}
	again := time.NewTicker(interruptInterval)
	defer again.Stop()
	for {
		in.db.Interrupt()
		select {
		case <-in.unwatched:
			return
		case <-again.C:
		}
	}
}

func (in *instance) close() error {
	close(in.unwatched)
	in.watch.Wait()
	in.db.Close()
	if in.spill == "" {
		return nil
	}
	return os.RemoveAll(in.spill)
}

// exec runs a statement of ours.
func (in *instance) exec(ctx context.Context, text string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return in.db.Run(text)
}

// query runs a statement; its error is fit for the user.
func (in *instance) query(ctx context.Context, text string) (*native.Result, error) {
	result, err := in.db.Query(text)
	if err != nil {
		return nil, classify(ctx, err)
	}
	return result, nil
}
