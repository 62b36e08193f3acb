package engine

import "context"

// RunUnchecked runs a statement past the check, to try the second wall alone.
// It returns the first column, which is of texts.
func (e *Engine) RunUnchecked(ctx context.Context, req Request) ([]string, error) {
	zone, err := readZone(req.TimeZone)
	if err != nil {
		return nil, err
	}
	in, err := e.open(ctx, req, zone)
	if err != nil {
		return nil, err
	}
	defer in.close()
	result, err := in.query(ctx, req.SQL)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	var texts []string
	for {
		rows, err := result.Next()
		if rows == 0 || err != nil {
			return texts, err
		}
		for i := range rows {
			texts = append(texts, string(result.Vector(0).Bytes(i)))
		}
	}
}
