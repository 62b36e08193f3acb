package stmt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"shoal/fe/errno"
	"shoal/fe/infoschema"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/types"
)

func (e *Executor) showTables(s *session.Session, stmt *ast.ShowTables) (*result.Table, error) {
	dbName, err := databaseOf(s, stmt.DB)
	if err != nil {
		return nil, err
	}
	label := "Tables_in_" + dbName
	if stmt.Filter.Like != nil {
		label += " (" + *stmt.Filter.Like + ")"
	}
	names, kind, err := e.tableNames(dbName)
	if err != nil {
		return nil, err
	}
	t := &result.Table{Columns: result.Texts(label)}
	if stmt.Full {
		t.Columns = result.Texts(label, "Table_type")
	}
	for _, name := range names {
		t.Rows = append(t.Rows, texts(name, kind)[0][:len(t.Columns)])
	}
	return t, nil
}

func (e *Executor) tableNames(dbName string) (names []string, kind string, err error) {
	if isInformationSchema(dbName) {
		return infoschema.Names(), "SYSTEM VIEW", nil
	}
	db, err := e.database(dbName)
	if err != nil {
		return nil, "", err
	}
	e.cfg.Store.View(func(st *state.State) {
		for _, t := range st.Tables(db.Id) {
			names = append(names, t.Name)
		}
	})
	return names, "BASE TABLE", nil
}

func (e *Executor) showTableStatus(s *session.Session, stmt *ast.ShowTableStatus) (*result.Table, error) {
	dbName, err := databaseOf(s, stmt.DB)
	if err != nil {
		return nil, err
	}
	t := &result.Table{Columns: result.Texts("Name", "Engine", "Version", "Row_format", "Rows", "Avg_row_length", "Data_length", "Max_data_length",
		"Index_length", "Data_free", "Auto_increment", "Create_time", "Update_time", "Check_time", "Collation", "Checksum", "Create_options", "Comment")}
	for _, i := range []int{2, 4, 5, 6, 7, 8, 9, 10, 15} {
		t.Columns[i].Type = "bigint"
	}
	for _, i := range []int{11, 12, 13} {
		t.Columns[i].Type = "datetime"
	}
	if isInformationSchema(dbName) {
		return t, nil
	}
	if _, err := e.database(dbName); err != nil {
		return nil, err
	}
	var databases []infoschema.Database
	e.cfg.Store.View(func(st *state.State) { databases = infoschema.Databases(st) })
	for _, db := range databases {
		if db.Name != dbName {
			continue
		}
		for _, table := range db.Tables {
			t.Rows = append(t.Rows, tableStatus(table))
		}
	}
	return t, nil
}

func tableStatus(t infoschema.TableInfo) []result.Cell {
	rows, bytes := strconv.FormatInt(t.Rows, 10), strconv.FormatInt(t.Bytes, 10)
	return []result.Cell{result.Text(t.Name), result.Text("Doris"), nil, nil, &rows, nil, &bytes, nil, nil, nil, nil,
		result.OrNull(t.Created), result.OrNull(t.Updated), nil, result.Text("utf8mb4_general_ci"), nil, result.Text(""), result.Text(t.Comment)}
}

// showColumns answers SHOW COLUMNS and DESC, with Doris's words for Key.
func (e *Executor) showColumns(s *session.Session, stmt *ast.ShowColumns) (*result.Table, error) {
	columns, err := e.columnsOf(s, stmt.Table)
	if err != nil {
		return nil, err
	}
	t := &result.Table{Columns: result.Texts("Field", "Type", "Null", "Key", "Default", "Extra")}
	if stmt.Full {
		t.Columns = result.Texts("Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment")
	}
	for _, c := range columns {
		nullable, extra := "NO", "NONE"
		if c.Nullable {
			nullable = "YES"
		}
		if c.Key {
			extra = ""
		}
		row := []result.Cell{result.Text(c.Name), result.Text(c.Type.String()), result.Text(nullable), result.Text(strconv.FormatBool(c.Key)), c.Default, result.Text(extra)}
		if stmt.Full {
			row = slices.Insert(row, 2, collationOf(c.Type))
			row = append(row, result.Text("select,insert,update,references"), result.Text(c.Comment))
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

func collationOf(t types.Type) result.Cell {
	switch t.Kind {
	case types.Char, types.VarChar, types.String, types.JSON, types.Variant:
		return result.Text("utf8mb4_general_ci")
	}
	return nil
}

// columnsOf is the columns of a table, of information_schema's too.
func (e *Executor) columnsOf(s *session.Session, name ast.Name) ([]infoschema.ColumnInfo, error) {
	dbName, err := databaseOf(s, name.DB)
	if err != nil {
		return nil, err
	}
	if isInformationSchema(dbName) {
		table, err := systemTable(name.Name)
		if err != nil {
			return nil, err
		}
		var columns []infoschema.ColumnInfo
		for _, c := range table.Columns {
			columns = append(columns, infoschema.ColumnInfo{Name: c.Name, Type: c.Type, Nullable: true})
		}
		return columns, nil
	}
	_, t, err := e.table(s, name)
	if err != nil {
		return nil, err
	}
	return infoschema.Columns(t), nil
}

// Fields is the columns of a table of the session's database, for shells that
// complete names.
func (e *Executor) Fields(ctx context.Context, s *session.Session, table string) ([]result.Column, error) {
	if err := e.cfg.Cluster.Sync(ctx); err != nil {
		return nil, err
	}
	infos, err := e.columnsOf(s, ast.Name{Name: table})
	if err != nil {
		return nil, err
	}
	var columns []result.Column
	for _, c := range infos {
		columns = append(columns, result.Column{Name: c.Name, Type: c.Type.String()})
	}
	return columns, nil
}

// showIndex is empty: tables have no indexes. The table must exist.
func (e *Executor) showIndex(s *session.Session, stmt *ast.ShowIndex) (*result.Table, error) {
	if _, err := e.columnsOf(s, stmt.Table); err != nil {
		return nil, err
	}
	return &result.Table{Columns: result.Texts("Table", "Non_unique", "Key_name", "Seq_in_index", "Column_name", "Collation", "Cardinality",
		"Sub_part", "Packed", "Null", "Index_type", "Comment", "Index_comment")}, nil
}

func (e *Executor) showCreateTable(s *session.Session, stmt *ast.ShowCreateTable) (*result.Table, error) {
	t, err := e.definition(s, stmt.Table)
	if err != nil {
		return nil, err
	}
	if stmt.View {
		return nil, errno.New(errno.Unknown, "'%s' is a table and no view", t.Name)
	}
	return &result.Table{Columns: []result.Column{{Name: "Table", Type: "varchar(64)"}, {Name: "Create Table", Type: "text"}},
		Rows: texts(t.Name, createTableText(t))}, nil
}

// definition is a table as CREATE TABLE would define it, one of
// information_schema too.
func (e *Executor) definition(s *session.Session, name ast.Name) (*raftlogv1.Table, error) {
	dbName, err := databaseOf(s, name.DB)
	if err != nil {
		return nil, err
	}
	if !isInformationSchema(dbName) {
		_, t, err := e.table(s, name)
		return t, err
	}
	table, err := systemTable(name.Name)
	if err != nil {
		return nil, err
	}
	return &raftlogv1.Table{Name: table.Name, Schemas: []*typesv1.Schema{table.Schema()}}, nil
}

// systemTable finds a table of information_schema.
func systemTable(name string) (*infoschema.Table, error) {
	table := infoschema.Lookup(name)
	if table == nil {
		return nil, errno.New(errno.NoSuchTable, "Table '%s.%s' doesn't exist", infoschema.Schema, name)
	}
	return table, nil
}

// createTableText prints the statement that makes the same table. Lines are
// laid out as SQLAlchemy's reader of it expects.
func createTableText(t *raftlogv1.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (\n", ast.QuoteName(t.Name))
	columns := catalog.Newest(t).Columns
	for i, c := range columns {
		b.WriteString("  " + columnText(c))
		if i < len(columns)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString(") ENGINE=OLAP\n")
	if len(t.DuplicateKeys) > 0 {
		fmt.Fprintf(&b, "DUPLICATE KEY(%s)\n", quoteNames(t.DuplicateKeys))
	}
	if t.Comment != "" {
		fmt.Fprintf(&b, "COMMENT %s\n", quoteText(t.Comment))
	}
	if len(t.Distribution) > 0 {
		fmt.Fprintf(&b, "DISTRIBUTED BY HASH(%s)", quoteNames(t.Distribution))
	} else {
		b.WriteString("DISTRIBUTED BY RANDOM")
	}
	if t.Buckets > 0 {
		fmt.Fprintf(&b, " BUCKETS %d", t.Buckets)
	} else {
		b.WriteString(" BUCKETS AUTO")
	}
	if len(t.Properties) > 0 {
		var lines []string
		for _, key := range slices.Sorted(maps.Keys(t.Properties)) {
			lines = append(lines, ast.QuoteString(key)+" = "+ast.QuoteString(t.Properties[key]))
		}
		fmt.Fprintf(&b, "\nPROPERTIES (\n%s\n)", strings.Join(lines, ",\n"))
	}
	return b.String()
}

func columnText(c *typesv1.Column) string {
	text := ast.QuoteName(c.Name) + " " + c.Type
	if c.Nullable {
		text += " NULL"
	} else {
		text += " NOT NULL"
	}
	switch {
	case c.DefaultCurrentTimestamp:
		text += " DEFAULT " + currentTimestamp(c.Type)
	case c.DefaultValue != nil:
		text += " DEFAULT " + ast.QuoteString(*c.DefaultValue)
	}
	if c.Comment != "" {
		text += " COMMENT " + quoteText(c.Comment)
	}
	return text
}

// currentTimestamp is spelled with as many digits as the column has, since so
// many it gets.
func currentTimestamp(columnType string) string {
	return "CURRENT_TIMESTAMP" + strings.TrimPrefix(columnType, "datetime")
}

// quoteText quotes with single quotes, as readers of COMMENT expect.
func quoteText(s string) string {
	inner := ast.QuoteString(s)
	inner = strings.ReplaceAll(inner[1:len(inner)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(inner, "'", `\'`) + "'"
}

func quoteNames(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = ast.QuoteName(n)
	}
	return strings.Join(quoted, ", ")
}
