package pipe

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"shoal/internal/rowsetmeta"
	spell "shoal/sql/duckdb"
)

// A Footer is what a rowset file says of itself.
type Footer struct {
	Rows     int64
	Metadata map[string]string // the keys that a pipe writes
}

// ReadFooter reads the footer of the file at path, and nothing else of it. The
// error says why it is no Parquet file.
func (e *Engine) ReadFooter(ctx context.Context, path string) (Footer, error) {
	f := Footer{Metadata: map[string]string{}}
	file := spell.QuoteString(path)
	rows, err := e.db.QueryContext(ctx, "SELECT num_rows, key, value FROM parquet_file_metadata("+file+") LEFT JOIN parquet_kv_metadata("+file+") ON true")
	if err != nil {
		return f, fmt.Errorf("footer: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key, value sql.RawBytes
		if err := rows.Scan(&f.Rows, &key, &value); err != nil {
			return f, fmt.Errorf("footer: %w", err)
		}
		if name := string(key); strings.HasPrefix(name, rowsetmeta.Prefix) {
			f.Metadata[name] = string(value)
		}
	}
	return f, rows.Err()
}
