package stmt

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"shoal/fe/errno"
	"shoal/fe/infoschema"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/sql/ast"
)

// noOp answers the statements that have nothing to do here; transactions
// still show in the status that drivers read.
func noOp(s *session.Session, stmt *ast.NoOp, w result.Writer) error {
	switch first, _, _ := strings.Cut(stmt.What, " "); first {
	case "START", "BEGIN":
		s.InTransaction = true
	case "COMMIT", "ROLLBACK":
		s.InTransaction = strings.Contains(stmt.What, " TO ") && s.InTransaction
	}
	w.OK(0, "")
	return nil
}

func (e *Executor) kill(s *session.Session, stmt *ast.Kill, w result.Writer) error {
	if stmt.ID > 1<<32-1 {
		return errno.New(errno.NoSuchThread, "Unknown thread id: %d", stmt.ID)
	}
	if err := e.cfg.Processes.Kill(uint32(stmt.ID), stmt.Query); err != nil {
		return err
	}
	w.OK(0, "")
	return nil
}

// helpTable is MySQL's answer for a topic that it does not know.
func helpTable() *result.Table {
	return &result.Table{Columns: result.Texts("source_category_name", "name", "is_it_category")}
}

func showVariables(s *session.Session, scope ast.Scope) *result.Table {
	t := &result.Table{Columns: result.Texts("Variable_name", "Value")}
	for _, v := range s.Variables(sessionScope(scope)) {
		t.Rows = append(t.Rows, []result.Cell{result.Text(v.Name), result.Text(v.Value)})
	}
	return t
}

// showStatus has the few counters that tools look for.
func (e *Executor) showStatus() *result.Table {
	t := &result.Table{Columns: result.Texts("Variable_name", "Value")}
	for _, v := range [][2]string{
		{"Ssl_cipher", ""},
		{"Threads_connected", strconv.Itoa(e.cfg.Processes.Len())},
		{"Uptime", strconv.Itoa(int(time.Since(e.cfg.Started).Seconds()))},
	} {
		t.Rows = append(t.Rows, []result.Cell{result.Text(v[0]), result.Text(v[1])})
	}
	return t
}

func showWarnings(s *session.Session, stmt *ast.ShowWarnings) *result.Table {
	var rows [][]result.Cell
	for _, w := range s.Warnings() {
		if stmt.Errors && w.Level != session.LevelError {
			continue
		}
		rows = append(rows, []result.Cell{result.Text(w.Level), result.Text(strconv.Itoa(int(w.Code.Num))), result.Text(w.Message)})
	}
	if stmt.Count {
		name := "@@session.warning_count"
		if stmt.Errors {
			name = "@@session.error_count"
		}
		return &result.Table{Columns: []result.Column{{Name: name, Type: "bigint"}},
			Rows: [][]result.Cell{{result.Text(strconv.Itoa(len(rows)))}}}
	}
	rows = rows[min(stmt.Offset, len(rows)):]
	if stmt.Limit >= 0 {
		rows = rows[:min(stmt.Limit, len(rows))]
	}
	return &result.Table{Columns: []result.Column{{Name: "Level", Type: "varchar(7)"}, {Name: "Code", Type: "int"}, {Name: "Message", Type: "varchar(512)"}}, Rows: rows}
}

// infoWidth is how much of a statement SHOW PROCESSLIST has without FULL.
const infoWidth = 100

func (e *Executor) showProcesslist(stmt *ast.ShowProcesslist) *result.Table {
	columns := result.Texts("Id", "User", "Host", "db", "Command", "Time", "State", "Info")
	columns[0].Type, columns[5].Type = "bigint", "int"
	t := &result.Table{Columns: columns}
	for _, p := range e.cfg.Processes.List() {
		info := p.Info
		if !stmt.Full && len(info) > infoWidth {
			info = strings.ToValidUTF8(info[:infoWidth], "")
		}
		t.Rows = append(t.Rows, []result.Cell{result.Text(strconv.Itoa(int(p.ID))), result.Text(p.User), result.Text(p.Host), result.OrNull(p.DB),
			result.Text(p.Command), result.Text(strconv.Itoa(int(time.Since(p.Since).Seconds()))), result.Text(p.State), result.OrNull(info)})
	}
	return t
}

// showGrants is the one account there is so far.
func showGrants(s *session.Session) *result.Table {
	return &result.Table{
		Columns: result.Texts(fmt.Sprintf("Grants for %s@%%", s.User)),
		Rows:    [][]result.Cell{{result.Text(fmt.Sprintf("GRANT ALL PRIVILEGES ON *.* TO `%s`@`%%`", s.User))}},
	}
}

// lists has the columns of the SHOW statements that differ only in their rows;
// most of them are about things that Shoal does not have, and are empty.
var lists = map[ast.List][]string{
	ast.Engines:         {"Engine", "Support", "Comment", "Transactions", "XA", "Savepoints"},
	ast.Charsets:        {"Charset", "Description", "Default collation", "Maxlen"},
	ast.Collations:      {"Collation", "Charset", "Id", "Default", "Compiled", "Sortlen"},
	ast.Plugins:         {"Name", "Status", "Type", "Library", "License"},
	ast.Privileges:      {"Privilege", "Context", "Comment"},
	ast.Triggers:        {"Trigger", "Event", "Table", "Statement", "Timing", "Created", "sql_mode", "Definer", "character_set_client", "collation_connection", "Database Collation"},
	ast.Events:          {"Db", "Name", "Definer", "Time zone", "Type", "Execute at", "Interval value", "Interval field", "Starts", "Ends", "Status", "Originator", "character_set_client", "collation_connection", "Database Collation"},
	ast.ProcedureStatus: {"Db", "Name", "Type", "Language", "Definer", "Modified", "Created", "Security_type", "Comment", "character_set_client", "collation_connection", "Database Collation"},
	ast.FunctionStatus:  {"Db", "Name", "Type", "Language", "Definer", "Modified", "Created", "Security_type", "Comment", "character_set_client", "collation_connection", "Database Collation"},
	ast.OpenTables:      {"Database", "Table", "In_use", "Name_locked"},
	ast.Catalogs:        {"CatalogId", "CatalogName", "Type", "IsCurrent", "CreateTime", "LastUpdateTime", "Comment"},
}

// showTrash is how many files that nobody needs are to be removed, and how many
// bytes they take up; the sweep of the warehouse may find more.
func (e *Executor) showTrash() *result.Table {
	var files, bytes int64
	e.cfg.Store.View(func(st *state.State) {
		for _, f := range st.Trash() {
			files, bytes = files+1, bytes+f.Bytes
		}
	})
	t := &result.Table{Columns: result.Texts("Files", "TrashUsedCapacity"), Rows: texts(strconv.FormatInt(files, 10), strconv.FormatInt(bytes, 10))}
	t.Columns[0].Type, t.Columns[1].Type = "bigint", "bigint"
	return t
}

func (e *Executor) showList(ctx context.Context, stmt *ast.ShowList) (*result.Table, error) {
	switch stmt.What {
	case ast.Frontends:
		return e.cfg.Nodes.Frontends(ctx, true), nil
	case ast.Backends:
		return e.cfg.Nodes.Backends(true), nil
	case ast.Trash:
		return e.showTrash(), nil
	}
	names, ok := lists[stmt.What]
	if !ok {
		return nil, errno.New(errno.NotSupportedYet, "SHOW %s is not supported by Shoal", stmt.What)
	}
	t := &result.Table{Columns: result.Texts(names...)}
	switch stmt.What {
	case ast.Engines:
		t.Rows = texts("Doris", "DEFAULT", "Rowsets in Parquet files", "NO", "NO", "NO")
	case ast.Charsets:
		t.Rows = texts("utf8mb4", "UTF-8 Unicode", "utf8mb4_general_ci", "4")
		t.Columns[3].Type = "int"
	case ast.Collations:
		t.Columns[2].Type, t.Columns[5].Type = "bigint", "int"
		for _, c := range infoschema.Collations {
			isDefault := ""
			if c.Default {
				isDefault = "Yes"
			}
			t.Rows = append(t.Rows, texts(c.Name, c.Charset, strconv.FormatInt(c.ID, 10), isDefault, "Yes", "1")...)
		}
	case ast.Catalogs:
		t.Columns[0].Type = "bigint"
		t.Rows = texts("0", "internal", "internal", "yes", "UNRECORDED", "NULL", "Doris internal catalog")
	case ast.Privileges:
		t.Rows = texts("All", "Everything", "What root may")
	}
	return t, nil
}

// texts is one row of text cells.
func texts(cells ...string) [][]result.Cell {
	row := make([]result.Cell, len(cells))
	for i := range cells {
		row[i] = &cells[i]
	}
	return [][]result.Cell{row}
}
