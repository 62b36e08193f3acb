package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shoal/internal/nodetls"
)

const tlsDirUsage = "`folder` with ca.crt, tls.crt and tls.key as `shoal certs` makes them; connections between nodes are then mutual TLS only, without it in clear and on loopback only"

func certsCommand() *cobra.Command {
	var out string
	var hosts []string
	var newToken bool
	cmd := &cobra.Command{
		Use: "certs", Short: "Make or renew the certificates of a cluster's nodes and operators", Args: cobra.NoArgs,
		Long: `Makes an authority in --out, once, and below it a folder for each --host and one
for operators: each is a --tls-dir, to be copied to its host by a safe way.
Running it again with the same --out renews them under the same authority; nodes
take up new certificates without a restart. Keep ca.key off the nodes: whoever has
it can join the cluster.

The nodes' folders also have cluster.token, which is made with the authority and
stays the same; --new-token makes another. Nodes read it at their start and refuse
those with another, so with a new one all nodes of a cluster are started again
together.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return makeCerts(cmd, out, hosts, newToken) },
	}
	cmd.Flags().StringVar(&out, "out", "certs", "`folder` of the authority and of what it makes")
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "`names` of a node, separated by commas: host names or IP addresses, first its --advertise-host; once for each node")
	cmd.Flags().BoolVar(&newToken, "new-token", false, "make a new cluster.token: all nodes have to be started again with it, together")
	return cmd
}

func makeCerts(cmd *cobra.Command, out string, hosts []string, newToken bool) error {
	if len(hosts) == 0 {
		return errors.New("--host names no node: give the --advertise-host of each, such as --host fe1.example.com --host 10.0.0.2")
	}
	nodes := make([][]string, len(hosts))
	for i, names := range hosts {
		nodes[i] = strings.Split(names, ",")
	}
	made, err := nodetls.Issue(out, nodes, newToken, time.Now())
	if err != nil {
		return err
	}
	for _, issued := range made {
		whose := "operators, for admin and sql"
		if len(issued.Names) > 0 {
			whose = "node " + strings.Join(issued.Names, ", ")
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, valid until %s\n", issued.Dir, whose, issued.Until.Format(time.DateOnly))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Copy each folder to its host, by a safe way, and give it as --tls-dir. Keep %s off the nodes.\n", filepath.Join(out, nodetls.CAKeyFile))
	return nil
}

// operatorTLS reads the operator's certificates, if there are any.
func operatorTLS(cmd *cobra.Command) (*nodetls.Credentials, error) {
	dir, err := cmd.Flags().GetString("tls-dir")
	if err != nil || dir == "" {
		return nil, err
	}
	tls, err := nodetls.Open(dir, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return nil, fmt.Errorf("--tls-dir: %w", err)
	}
	return tls, nil
}
