package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	adminv1 "shoal/proto/admin/v1"
)

// checkCommand runs ADMIN CHECK ROUTINE LOAD LEDGER; the exit code tells whether
// all is well.
func checkCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "check JOB", Short: "Prove a job's delivery ledger from its files", Args: cobra.ExactArgs(1)}
	db := cmd.Flags().StringP("database", "D", "", "database of the job")
	cmd.MarkFlagRequired("database")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, done, err := dialAdmin(cmd)
		if err != nil {
			return err
		}
		defer done()
		var verdict string // of the last row, which is about the whole job
		req := &adminv1.ExecuteRequest{Database: *db, Sql: "ADMIN CHECK ROUTINE LOAD LEDGER FOR `" + strings.ReplaceAll(args[0], "`", "``") + "`"}
		err = runSQL(cmd.Context(), client, req, cmd.OutOrStdout(), func(columns, cells []string) { verdict = cells[slices.Index(columns, "Verdict")] })
		if err == nil && verdict != "OK" {
			err = fmt.Errorf("job %s: the verdict is %s", args[0], verdict)
		}
		return err
	}
	return cmd
}
