// Command shoal is the whole of Shoal: each role is a subcommand.
//
// Every flag is also an environment variable (SHOAL_DATA_DIR for --data-dir)
// and a key of the YAML file that --config names.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "shoal:", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "shoal",
		Short:         "Loads Kafka topics into tables, every offset exactly once",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return fillFlags(cmd, os.LookupEnv)
		},
	}
	root.PersistentFlags().String("config", "", "YAML `file` with values for flags that are not given")
	root.AddCommand(frontendCommand(), backendCommand(), standaloneCommand(), demoCommand(), adminCommand(), sqlCommand(), certsCommand())
	return root
}
