package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shoal/internal/nodetls"
	"shoal/internal/rpcconn"
	adminv1 "shoal/proto/admin/v1"
)

// dialAdmin connects to the admin API that --fe names.
func dialAdmin(cmd *cobra.Command) (adminv1.AdminServiceClient, func(), error) {
	addr, err := cmd.Flags().GetString("fe")
	if err != nil {
		return nil, nil, err
	}
	if err := checkAddress("fe", addr); err != nil {
		return nil, nil, err
	}
	tls, err := operatorTLS(cmd)
	if err != nil {
		return nil, nil, err
	}
	conn, err := grpc.NewClient(addr, rpcconn.DialOptions(tls, nodetls.Token{})...)
	if err != nil {
		return nil, nil, fmt.Errorf("frontend %s: %w", addr, err)
	}
	return adminv1.NewAdminServiceClient(conn), func() { conn.Close() }, nil
}

// addFrontendFlags are for the commands that talk to a running cluster.
func addFrontendFlags(cmd *cobra.Command) {
	cmd.PersistentFlags().String("tls-dir", "", tlsDirUsage)
	cmd.PersistentFlags().String("fe", "127.0.0.1:9020", "rpc `address` of a frontend")
}

// readable is an error of the admin API as a MySQL client would print it.
func readable(err error) error {
	if err == nil {
		return nil
	}
	st := status.Convert(err)
	for _, detail := range st.Details() {
		if e, ok := detail.(*adminv1.SqlError); ok {
			return fmt.Errorf("ERROR %d (%s): %s", e.Errno, e.Sqlstate, st.Message())
		}
	}
	if st.Code() == codes.Unavailable {
		return errors.New("no frontend can be reached, see --fe: " + st.Message())
	}
	return errors.New(st.Message())
}

func sqlCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   `sql "STATEMENT"`,
		Short: "Run one SQL statement through a frontend's admin API",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, done, err := dialAdmin(cmd)
			if err != nil {
				return err
			}
			defer done()
			db, err := cmd.Flags().GetString("database")
			if err != nil {
				return err
			}
			return runSQL(cmd.Context(), client, &adminv1.ExecuteRequest{Sql: args[0], Database: db}, cmd.OutOrStdout(), nil)
		},
	}
	addFrontendFlags(cmd)
	cmd.Flags().StringP("database", "D", "", "database to use")
	return cmd
}

// runSQL prints a statement's result: a table, whose rows watch is shown if it is
// set, or how many rows it affected.
func runSQL(ctx context.Context, client adminv1.AdminServiceClient, req *adminv1.ExecuteRequest, out io.Writer, watch func(columns, cells []string)) error {
	stream, err := client.Execute(ctx, req)
	if err != nil {
		return readable(err)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var columns []string
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return table.Flush()
		}
		if err != nil {
			return errors.Join(readable(err), table.Flush())
		}
		switch body := resp.Body.(type) {
		case *adminv1.ExecuteResponse_Columns:
			columns = body.Columns.Names
			printRow(table, columns)
		case *adminv1.ExecuteResponse_Row:
			cells := cellTexts(body.Row.Cells)
			printRow(table, cells)
			if watch != nil {
				watch(columns, cells)
			}
		case *adminv1.ExecuteResponse_Done:
			if columns == nil {
				fmt.Fprintf(out, "OK, %d rows affected %s\n", body.Done.AffectedRows, body.Done.Info)
			}
		}
	}
}

func cellTexts(cells []*adminv1.Cell) []string {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = "NULL"
		if c.Value != nil {
			texts[i] = string(c.Value)
		}
	}
	return texts
}

// oneLine writes what would break a table as the mysql client does.
var oneLine = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\x00", `\0`)

func printRow(w io.Writer, cells []string) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		oneLine.WriteString(w, c)
	}
	fmt.Fprintln(w)
}

func adminCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "admin", Short: "Look at a running cluster and act on it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	addFrontendFlags(cmd)
	cmd.AddCommand(jobsCommand(), tasksCommand(), nodesCommand(), checkCommand(), snapshotCommand(),
		jobCommand("pause", "Pause a job", func(ctx context.Context, c adminv1.AdminServiceClient, job *adminv1.JobName) error {
			_, err := c.PauseJob(ctx, &adminv1.PauseJobRequest{Job: job})
			return err
		}),
		jobCommand("resume", "Resume a paused job", func(ctx context.Context, c adminv1.AdminServiceClient, job *adminv1.JobName) error {
			_, err := c.ResumeJob(ctx, &adminv1.ResumeJobRequest{Job: job})
			return err
		}),
		jobCommand("stop", "Stop a job for good", func(ctx context.Context, c adminv1.AdminServiceClient, job *adminv1.JobName) error {
			_, err := c.StopJob(ctx, &adminv1.StopJobRequest{Job: job})
			return err
		}))
	return cmd
}

// listCommand is a command that prints a table.
func listCommand(use, short string, header []string, rows func(cmd *cobra.Command, c adminv1.AdminServiceClient) ([][]string, error)) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		client, done, err := dialAdmin(cmd)
		if err != nil {
			return err
		}
		defer done()
		lines, err := rows(cmd, client)
		if err != nil {
			return readable(err)
		}
		table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		for _, line := range append([][]string{header}, lines...) {
			printRow(table, line)
		}
		return table.Flush()
	}}
}

func jobsCommand() *cobra.Command {
	var all bool
	cmd := listCommand("jobs", "List routine load jobs", []string{"ID", "DATABASE", "NAME", "TABLE", "STATE", "TASKS", "ROWS", "ERRORS", "LAG", "VERDICT"},
		func(cmd *cobra.Command, c adminv1.AdminServiceClient) ([][]string, error) {
			resp, err := c.ListJobs(cmd.Context(), &adminv1.ListJobsRequest{All: all})
			if err != nil {
				return nil, err
			}
			var lines [][]string
			for _, j := range resp.Jobs {
				lag := "unknown"
				if j.Lag != nil {
					lag = strconv.FormatInt(*j.Lag, 10)
				}
				lines = append(lines, []string{strconv.FormatUint(j.Id, 10), j.Database, j.Name, j.Table, j.State, strconv.Itoa(int(j.Tasks)),
					strconv.FormatInt(j.LoadedRows, 10), strconv.FormatInt(j.ErrorRows, 10), lag, j.Verdict})
			}
			return lines, nil
		})
	cmd.Flags().BoolVar(&all, "all", false, "ended jobs too")
	return cmd
}

func tasksCommand() *cobra.Command {
	var job uint64
	cmd := listCommand("tasks", "List tasks", []string{"ID", "JOB", "EPOCH", "BACKEND", "PHASE", "COMMITTED", "ABORTED", "TROUBLE"},
		func(cmd *cobra.Command, c adminv1.AdminServiceClient) ([][]string, error) {
			resp, err := c.ListTasks(cmd.Context(), &adminv1.ListTasksRequest{JobId: job})
			if err != nil {
				return nil, err
			}
			var lines [][]string
			for _, t := range resp.Tasks {
				lines = append(lines, []string{strconv.FormatUint(t.Id, 10), strconv.FormatUint(t.JobId, 10), strconv.FormatUint(t.Epoch, 10),
					strconv.FormatUint(t.BackendId, 10), t.Phase, strconv.FormatInt(t.CommittedTxns, 10), strconv.FormatInt(t.AbortedTxns, 10), t.Trouble})
			}
			return lines, nil
		})
	cmd.Flags().Uint64Var(&job, "job", 0, "only of the job with this `id`")
	return cmd
}

func nodesCommand() *cobra.Command {
	return listCommand("nodes", "List frontends and backends", []string{"ID", "ROLE", "ADDRESS", "ALIVE", "LEADER", "VERSION", "NOTE"},
		func(cmd *cobra.Command, c adminv1.AdminServiceClient) ([][]string, error) {
			resp, err := c.ListNodes(cmd.Context(), &adminv1.ListNodesRequest{})
			if err != nil {
				return nil, err
			}
			var lines [][]string
			if !slices.ContainsFunc(resp.Nodes, func(n *adminv1.Node) bool { return n.Leader }) {
				fmt.Fprintln(cmd.ErrOrStderr(), "Warning: no frontend that leads could be reached: this is what the one that answers knows, and may be old")
			}
			for _, n := range resp.Nodes {
				role, note := "backend", n.Trouble
				if n.Role == adminv1.Node_ROLE_FRONTEND {
					role = strings.ToLower(n.FrontendRole)
				}
				if n.Decommissioning {
					note = strings.TrimSpace("decommissioning " + note)
				}
				lines = append(lines, []string{n.Id, role, n.Address, strconv.FormatBool(n.Alive), strconv.FormatBool(n.Leader), n.Version, note})
			}
			return lines, nil
		})
}

// jobCommand is a command that acts on one job, named database.job.
func jobCommand(verb, short string, act func(context.Context, adminv1.AdminServiceClient, *adminv1.JobName) error) *cobra.Command {
	cmd := &cobra.Command{Use: verb + " JOB", Short: short, Args: cobra.ExactArgs(1)}
	db := cmd.Flags().StringP("database", "D", "", "database of the job")
	cmd.MarkFlagRequired("database")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, done, err := dialAdmin(cmd)
		if err != nil {
			return err
		}
		defer done()
		return readable(act(cmd.Context(), client, &adminv1.JobName{Database: *db, Name: args[0]}))
	}
	return cmd
}
