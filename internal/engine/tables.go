package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"shoal/sql/duckdb"
)

// rowsPerInsert bounds the size of one INSERT of inline rows.
const rowsPerInsert = 512

// createTables makes the tables of a request known under their names.
func (in *instance) createTables(ctx context.Context, tables []Table) error {
	for _, t := range tables {
		if err := in.createTable(ctx, t); err != nil {
			return fmt.Errorf("table %s.%s: %w", t.DB, t.Name, classify(ctx, err))
		}
	}
	return nil
}

func (in *instance) createTable(ctx context.Context, t Table) error {
	if err := in.exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+duckdb.QuoteName(duckdb.SchemaName(t.DB))); err != nil {
		return err
	}
	name := duckdb.TableName(t.DB, t.Name)
	if len(t.files()) > 0 {
		return in.exec(ctx, "CREATE VIEW "+name+" AS "+scan(t))
	}
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = duckdb.QuoteName(c.Name) + " " + c.Type.DuckDB()
	}
	if err := in.exec(ctx, "CREATE TABLE "+name+" ("+strings.Join(columns, ", ")+")"); err != nil {
		return err
	}
	for rows := t.Rows; len(rows) > 0; {
		n := min(len(rows), rowsPerInsert)
		if err := in.exec(ctx, "INSERT INTO "+name+" VALUES "+literals(rows[:n], t.Columns)); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// scan reads the files of a table by field id, so that columns keep their
// data when they are renamed, and have their initial default where a file is
// older than they. What a file has under another type than the column's is read
// as that and cast afterwards: if DuckDB's reader does it, it also rounds the
// values that a condition compares with, and then 10 is less than 10.5 no more.
func scan(t Table) string {
	var parts []string
	if len(t.Files) > 0 {
		parts = append(parts, "SELECT * FROM "+read(t.Files, t.Columns))
	}
	for _, o := range t.Older {
		stored, casts := make([]Column, len(t.Columns)), make([]string, len(t.Columns))
		for i, c := range t.Columns {
			stored[i] = c
			if j := slices.IndexFunc(o.Columns, func(then Column) bool { return then.ID == c.ID }); j >= 0 {
				stored[i].Type = o.Columns[j].Type
			}
			name := duckdb.QuoteName(c.Name)
			casts[i] = "CAST(" + name + " AS " + c.Type.DuckDB() + ") AS " + name
		}
		parts = append(parts, "SELECT "+strings.Join(casts, ", ")+" FROM "+read(o.Files, stored))
	}
	return strings.Join(parts, " UNION ALL ")
}

// read is the call that reads files, which have columns under these types or
// not at all.
func read(files []string, columns []Column) string {
	quoted := make([]string, len(files))
	for i, f := range files {
		quoted[i] = duckdb.QuoteString(f)
	}
	fields := make([]string, len(columns))
	for i, c := range columns {
		initial := "NULL"
		if c.Initial != nil {
			initial = duckdb.QuoteString(*c.Initial)
		}
		fields[i] = fmt.Sprintf("%d: {name: %s, type: %s, default_value: CAST(%s AS VARCHAR)}",
			c.ID, duckdb.QuoteString(c.Name), duckdb.QuoteString(c.Type.DuckDB()), initial)
	}
	return fmt.Sprintf("read_parquet([%s], schema = MAP {%s})", strings.Join(quoted, ", "), strings.Join(fields, ", "))
}

// literals spells rows as VALUES. DuckDB casts the texts to the columns'
// types; MySQL's 1 and 0 are what it reads as booleans too. What has parts is
// JSON.
func literals(rows [][][]byte, columns []Column) string {
	var b strings.Builder
	for i, row := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for j, c := range columns {
			if j > 0 {
				b.WriteString(", ")
			}
			if j >= len(row) || row[j] == nil {
				b.WriteString("NULL")
				continue
			}
			text := literal(row[j])
			if c.Type.IsNested() {
				text = "CAST(CAST(" + text + " AS JSON) AS " + c.Type.DuckDB() + ")"
			}
			b.WriteString(text)
		}
		b.WriteByte(')')
	}
	return b.String()
}

// literal spells a text. A statement cannot have the character NUL.
func literal(text []byte) string {
	if bytes.IndexByte(text, 0) >= 0 {
		return fmt.Sprintf("decode(unhex('%X'))", text)
	}
	return duckdb.QuoteString(string(text))
}
