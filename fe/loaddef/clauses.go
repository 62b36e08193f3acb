package loaddef

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"

	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
)

// readMerge refuses rows that are to delete others.
func (d *Definition) readMerge(merge ast.MergeType) error {
	if merge == ast.Delete || merge == ast.Merge {
		return unsupported("WITH %s is not supported yet: %s", merge, noKeys)
	}
	return nil
}

// readClauses reads the clauses before PROPERTIES that were given, over those
// that are there.
func (d *Definition) readClauses(clauses *ast.LoadProperties, target *Target) error {
	switch {
	case clauses.DeleteOn != nil:
		return unsupported("DELETE ON is not supported yet: %s", noKeys)
	case clauses.OrderBy != "" && d.share():
		return unsupported("ORDER BY cannot be had with load_mode share_group, which gives the records of a partition to any task, in any order; tables have no sequence column either")
	case clauses.OrderBy != "":
		return unsupported("ORDER BY is not supported yet: tables have no sequence column")
	case target == nil && clauses.Columns != nil:
		return onlyWithTable("COLUMNS")
	case target == nil && clauses.Where != nil:
		return onlyWithTable("WHERE")
	case target == nil && clauses.PrecedingFilter != nil:
		return onlyWithTable("PRECEDING FILTER")
	}
	if err := d.readSeparator(clauses.ColumnsTerminatedBy); err != nil {
		return err
	}
	if clauses.Columns != nil {
		if err := d.readColumns(clauses.Columns, target); err != nil {
			return err
		}
	}
	if clauses.PrecedingFilter != nil {
		d.Load.PrecedingFilter = clauses.PrecedingFilter.Text
	}
	if clauses.Where != nil {
		d.Load.Where = clauses.Where.Text
	}
	return readPartitions(clauses.Partitions, target)
}

// onlyWithTable refuses a clause in a multi-table job.
func onlyWithTable(clause string) error {
	return refuse("%s is for jobs of one table; this one has no ON, so that each message names its table", clause)
}

// readPartitions checks PARTITION. A table has no partition but, as in Doris, one
// of its own name, which is all of it; so nothing need be kept.
func readPartitions(partitions *ast.Partitions, target *Target) error {
	switch {
	case partitions == nil:
		return nil
	case partitions.Temporary:
		return unsupported("TEMPORARY PARTITION is not supported yet: tables have no partitions")
	case target == nil:
		return onlyWithTable("PARTITION")
	}
	for _, name := range partitions.Names {
		if !strings.EqualFold(name, target.Table) {
			return refuse("Unknown partition '%s' in table '%s': a table has one partition, of its own name", name, target.Table)
		}
	}
	return nil
}

// readSeparator reads COLUMNS TERMINATED BY, if it was given.
func (d *Definition) readSeparator(text *string) error {
	if text == nil {
		return nil
	}
	if d.Load.Format != typesv1.RoutineLoad_FORMAT_CSV {
		return refuse(`COLUMNS TERMINATED BY is for "format" = "csv"; the job's format is %s`, formatName(d.Load.Format))
	}
	separator, err := unescapeSeparator(*text)
	if err != nil {
		return err
	}
	d.Load.ColumnSeparator = separator
	return nil
}

// escapes are those of COLUMNS TERMINATED BY (Doris, Separator).
var escapes = strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\r`, "\r", `\\`, `\`, `\'`, "'", `\"`, `"`)

// unescapeSeparator reads a separator: \x begins bytes in hexadecimal, \\ and
// letters are as in strings.
func unescapeSeparator(text string) (string, error) {
	separator := escapes.Replace(text)
	if digits, ok := strings.CutPrefix(text, `\x`); ok {
		bytes, err := hex.DecodeString(strings.ReplaceAll(digits, `\x`, ""))
		if err != nil || len(bytes) == 0 {
			return "", refuse(`Invalid separator '%s': \x wants pairs of hexadecimal digits, as in '\x01'`, text)
		}
		separator = string(bytes)
	}
	switch {
	case separator == "":
		return "", refuse("COLUMNS TERMINATED BY must not be empty")
	case strings.Contains(separator, "\n"):
		return "", refuse("COLUMNS TERMINATED BY must not have a newline, which ends rows")
	case !utf8.ValidString(separator):
		return "", refuse("COLUMNS TERMINATED BY must be UTF-8, as rows are")
	}
	return separator, nil
}

// escapeSeparator is a separator as unescapeSeparator reads it: in hexadecimal
// if there is anything that would be read as an escape or that does not print.
func escapeSeparator(separator string) string {
	plain := !strings.ContainsRune(separator, '\\')
	for _, r := range separator {
		plain = plain && r >= ' ' && r != 0x7f
	}
	switch {
	case separator == "\t":
		return `\t`
	case plain:
		return separator
	}
	return `\x` + hex.EncodeToString([]byte(separator))
}
