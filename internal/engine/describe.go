package engine

import (
	"context"
	"database/sql/driver"
	"io"
	"time"
)

// describe returns the columns of a query's result without running it. Only
// names that occur twice are not those of the result: DuckDB numbers them
// here.
func (in *instance) describe(ctx context.Context, text string, plain plainColumns) ([]ResultColumn, error) {
	rows, err := in.query(ctx, "DESCRIBE "+text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var described []ResultColumn
	values := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(values); {
		case err == io.EOF:
			return described, nil
		case err != nil:
			return nil, classify(ctx, err)
		}
		name, _ := values[0].(string)
		duckType, _ := values[1].(string)
		_, column := describe(name, duckType, plain, time.UTC)
		described = append(described, column)
	}
}
