package stmt_test

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"shoal/fe/result"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
)

// TestAltersAtOnce: of changes that come together none is lost; each has its
// schema version.
func TestAltersAtOnce(t *testing.T) {
	const sessions, columns = 8, 10
	f := newFrontend(t)
	for _, text := range []string{"CREATE DATABASE d", "CREATE TABLE d.t (id INT)"} {
		if err := f.Execute(t.Context(), f.connect(), text, nil, &result.Description{}); err != nil {
			t.Fatal(err)
		}
	}
	var g errgroup.Group
	for i := range sessions {
		s := f.connect()
		g.Go(func() error {
			for j := range columns {
				if err := f.Execute(t.Context(), s, fmt.Sprintf("ALTER TABLE d.t ADD COLUMN c%d_%d INT", i, j), nil, &result.Description{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	f.store.View(func(st *state.State) {
		schema := catalog.Newest(st.Table(st.Database("d").Id, "t"))
		ids := map[int32]bool{}
		for _, c := range schema.Columns {
			ids[c.FieldId] = true
		}
		if len(schema.Columns) != 1+sessions*columns || len(ids) != len(schema.Columns) || schema.Version != 1+sessions*columns {
			t.Errorf("%d columns with %d ids, version %d", len(schema.Columns), len(ids), schema.Version)
		}
	})
}
