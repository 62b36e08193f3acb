package infoschema

import (
	"time"

	"shoal/fe/state"
	"shoal/fe/state/catalog"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/types"
)

// Databases is the catalog's databases with their tables, as the replicated
// state has them.
func Databases(st *state.State) []Database {
	var out []Database
	for _, db := range st.Databases() {
		info := Database{Name: db.Name}
		for _, t := range st.Tables(db.Id) {
			info.Tables = append(info.Tables, tableInfo(t, st.Rowsets(t.Id)))
		}
		out = append(out, info)
	}
	return out
}

func tableInfo(t *raftlogv1.Table, rowsets []*raftlogv1.TableRowset) TableInfo {
	info := TableInfo{Name: t.Name, Comment: t.Comment, Created: dateTime(t.CreatedMs), Columns: Columns(t)}
	for _, r := range rowsets {
		info.Rows += r.Rowset.Rows
		info.Bytes += r.Rowset.Bytes
	}
	return info
}

// Columns is the columns of a table's newest schema.
func Columns(t *raftlogv1.Table) []ColumnInfo {
	var columns []ColumnInfo
	for _, c := range catalog.Newest(t).Columns {
		typ, err := types.Parse(c.Type)
		if err != nil { // written by a release that knows more types
			typ = types.Type{Kind: types.String}
		}
		info := ColumnInfo{Name: c.Name, Type: typ, Nullable: c.Nullable, Default: c.DefaultValue, Key: c.Key, Comment: c.Comment}
		if c.DefaultCurrentTimestamp {
			info.Default = str("CURRENT_TIMESTAMP")
		}
		columns = append(columns, info)
	}
	return columns
}

// dateTime is a time as DATETIME text in UTC, empty for none.
func dateTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(time.DateTime)
}
