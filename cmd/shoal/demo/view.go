package demo

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// progress is what one line of the view says.
type progress struct {
	state   string
	loaded  int64
	errors  int64
	tasks   string
	lag     string
	verdict string
}

// View prints the job's progress once a second until ctx ends: a line that
// rewrites itself on a terminal, a new line elsewhere.
func View(ctx context.Context, db *sql.DB, out io.Writer, terminal bool) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last progress
	var lastAt time.Time
	for {
		p, err := readProgress(ctx, db)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintln(out)
			return nil
		case err != nil:
			return err
		}
		now := time.Now()
		rate := "-"
		if !lastAt.IsZero() {
			rate = fmt.Sprintf("%.0f", float64(p.loaded-last.loaded)/now.Sub(lastAt).Seconds())
		}
		last, lastAt = p, now
		line := fmt.Sprintf("%s  rows %d  rows/s %s  errors %d  tasks %s  lag %s  %s", p.state, p.loaded, rate, p.errors, p.tasks, p.lag, p.verdict)
		if terminal {
			fmt.Fprintf(out, "\r\x1b[K%.*s", 160, line)
		} else {
			fmt.Fprintln(out, line)
		}
		select {
		case <-ctx.Done():
			fmt.Fprintln(out)
			return nil
		case <-tick.C:
		}
	}
}

// readProgress reads the job's line of SHOW ROUTINE LOAD.
func readProgress(ctx context.Context, db *sql.DB) (progress, error) {
	row, err := showJob(ctx, db)
	if err != nil {
		return progress{}, err
	}
	p := progress{state: row["State"], tasks: row["CurrentTaskNum"], verdict: row["OtherMsg"], lag: "unknown"}
	var statistic struct {
		LoadedRows int64 `json:"loadedRows"`
		ErrorRows  int64 `json:"errorRows"`
	}
	if err := json.Unmarshal([]byte(row["Statistic"]), &statistic); err != nil {
		return progress{}, fmt.Errorf("column Statistic of SHOW ROUTINE LOAD: %w", err)
	}
	p.loaded, p.errors = statistic.LoadedRows, statistic.ErrorRows
	var lags map[string]any
	if json.Unmarshal([]byte(row["Lag"]), &lags) == nil {
		p.lag = sumLag(lags)
	}
	return p, nil
}

// sumLag adds up the partitions' lags; below zero says that one is not known.
func sumLag(lags map[string]any) string {
	var sum float64
	for _, lag := range lags {
		n, ok := lag.(float64)
		if !ok || n < 0 {
			return "unknown"
		}
		sum += n
	}
	return fmt.Sprintf("%.0f", sum)
}

// showJob is the demo's job as SHOW has it, by column.
func showJob(ctx context.Context, db *sql.DB) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, "SHOW ROUTINE LOAD FOR demo.web_events")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	cells := make([]sql.NullString, len(columns))
	if !rows.Next() {
		return nil, fmt.Errorf("the job demo.web_events is gone: %w", rows.Err())
	}
	targets := make([]any, len(cells))
	for i := range cells {
		targets[i] = &cells[i]
	}
	if err := rows.Scan(targets...); err != nil {
		return nil, err
	}
	row := make(map[string]string, len(columns))
	for i, c := range columns {
		row[c] = cells[i].String
	}
	if !slices.Contains(columns, "Statistic") {
		return nil, fmt.Errorf("SHOW ROUTINE LOAD has no column Statistic: %v", columns)
	}
	return row, nil
}
