package engine

import "context"

// RunUnchecked runs a statement past the check, to try the second wall alone.
func (e *Engine) RunUnchecked(ctx context.Context, req Request) error {
	zone, err := readZone(req.TimeZone)
	if err != nil {
		return err
	}
	in, err := e.open(ctx, req, zone)
	if err != nil {
		return err
	}
	defer in.close()
	return in.exec(ctx, req.SQL)
}
