package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/go-sql-driver/mysql" // the demo is a client of itself
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"shoal/cmd/shoal/demo"
)

func demoCommand() *cobra.Command {
	var s settings
	var kafkaAddr string
	var rate int
	cmd := &cobra.Command{
		Use: "demo", Short: "Run a standalone with an embedded broker, sample events and a running load", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), &s, kafkaAddr, rate) },
	}
	s.standaloneFlags(cmd)
	cmd.Flags().Lookup("data-dir").DefValue = "demo-data"
	s.dataDir = "demo-data"
	cmd.Flags().StringVar(&kafkaAddr, "kafka-addr", "127.0.0.1:19092", "listen `address` of the embedded broker")
	cmd.Flags().IntVar(&rate, "rate", 5000, "sample events per second")
	return cmd
}

// runDemo runs the parts of the demo until ctx ends: the standalone ends first,
// so that its tasks can still tell the broker what they release.
func runDemo(ctx context.Context, s *settings, kafkaAddr string, rate int) error {
	if err := s.check(true, true); err != nil {
		return err
	}
	dir, err := filepath.Abs(s.dataDir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	s.dataDir = dir
	logPath := filepath.Join(dir, "shoal.log")
	if s.log, err = os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return err
	}
	broker, err := demo.StartBroker(ctx, kafkaAddr, dir)
	if err != nil {
		return err
	}
	defer broker.Close()
	fmt.Printf("Embedded Kafka broker on %s, topic %s with %d partitions. Log: %s\n", kafkaAddr, demo.Topic, demo.Partitions, logPath)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan addresses, 1)
	var shoal, client errgroup.Group
	shoal.Go(func() error { defer cancel(); return s.runStandalone(ctx, func(a addresses) { served <- a }) })
	select {
	case <-ctx.Done():
	case a := <-served:
		client.Go(func() error { defer cancel(); return demo.Produce(ctx, kafkaAddr, rate) })
		client.Go(func() error { defer cancel(); return useDemo(ctx, a, kafkaAddr) })
	}
	return errors.Join(shoal.Wait(), client.Wait())
}

// useDemo sets the demo's job up, tells what to try, and shows its progress.
func useDemo(ctx context.Context, a addresses, kafkaAddr string) error {
	db, err := sql.Open("mysql", "root@tcp("+a.mysql+")/")
	if err != nil {
		return err
	}
	defer db.Close()
	ran, err := demo.SetUp(ctx, db, kafkaAddr)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	for _, statement := range ran {
		fmt.Printf("\n%s;\n", statement)
	}
	fmt.Print(demo.Hints(a.mysql))
	return demo.View(ctx, db, os.Stdout, term.IsTerminal(int(os.Stdout.Fd())))
}
