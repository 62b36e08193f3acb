package coord

import (
	"slices"
	"strings"

	"shoal/fe/state/catalog"
	backendv1 "shoal/proto/backend/v1"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/types"
)

// divide is a table's rowsets as a query reads them: the paths of those whose
// columns are stored as they are declared now, and of those from before types
// were changed, by how theirs are.
func divide(t *raftlogv1.Table, rowsets []*raftlogv1.TableRowset) (paths []string, older []*backendv1.OlderFiles, err error) {
	current := catalog.Newest(t)
	now, err := storedTypes(current, current)
	if err != nil {
		return nil, nil, err
	}
	forms := map[uint32]string{current.Version: now} // by version
	files := map[string]*backendv1.OlderFiles{}      // by form
	for _, r := range rowsets {
		version := r.Rowset.SchemaVersion
		form, known := forms[version]
		if !known {
			schema := current
			if i := slices.IndexFunc(t.Schemas, func(s *typesv1.Schema) bool { return s.Version == version }); i >= 0 {
				schema = t.Schemas[i]
			}
			if form, err = storedTypes(current, schema); err != nil {
				return nil, nil, err
			}
			if forms[version] = form; form != now && files[form] == nil {
				files[form] = &backendv1.OlderFiles{Schema: schema}
				older = append(older, files[form])
			}
		}
		if form == now {
			paths = append(paths, r.Rowset.Path)
		} else {
			files[form].Paths = append(files[form].Paths, r.Rowset.Path)
		}
	}
	return paths, older, nil
}

// storedTypes lists how the columns of current are stored in files of another
// schema version; what it lacks will be as it is now.
func storedTypes(current, version *typesv1.Schema) (string, error) {
	var b strings.Builder
	for _, c := range current.Columns {
		spelled := c.Type
		if i := slices.IndexFunc(version.Columns, func(then *typesv1.Column) bool { return then.FieldId == c.FieldId }); i >= 0 {
			spelled = version.Columns[i].Type
		}
		t, err := types.Parse(spelled)
		if err != nil {
			return "", err
		}
		b.WriteString(t.DuckDB() + ";")
	}
	return b.String(), nil
}
