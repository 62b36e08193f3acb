package stmt

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"shoal/fe/errno"
	"shoal/fe/session"
	"shoal/fe/state/catalog"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
	"shoal/sql/ast"
	"shoal/sql/types"
)

// tableProperties are Doris's properties that are kept and printed, and have
// no effect here: how a table is stored is not the user's to choose.
var tableProperties = []string{
	"replication_num", "replication_allocation", "storage_medium", "storage_format", "inverted_index_storage_format", "compression",
	"in_memory", "light_schema_change", "disable_auto_compaction", "enable_single_replica_compaction", "compaction_policy",
	"group_commit_interval_ms", "group_commit_data_bytes", "min_load_replica_num", "is_being_synced",
}

// reservedColumns are names that Iceberg has for itself (rule 9 of how rowsets
// are written): a column of that name could not be published.
var reservedColumns = []string{
	"_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number", "_change_type",
	"_change_ordinal", "_commit_snapshot_id",
}

func (e *Executor) createTable(ctx context.Context, s *session.Session, stmt *ast.CreateTable) error {
	dbName, err := databaseOf(s, stmt.Table.DB)
	if err != nil {
		return err
	}
	if isInformationSchema(dbName) {
		return notWritable()
	}
	db, err := e.database(dbName)
	if err != nil {
		return err
	}
	table, err := tableDefinition(stmt)
	if err != nil {
		return err
	}
	table.DatabaseId = db.Id
	_, err = e.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: table}}})
	switch {
	case errors.Is(err, catalog.ErrTableExists):
		return unless(stmt.IfNotExists, s, errno.New(errno.TableExists, "Table '%s' already exists", stmt.Table.Name))
	case errors.Is(err, catalog.ErrNoDatabase):
		return errno.New(errno.UnknownDatabase, "Unknown database '%s'", dbName)
	}
	return err
}

// tableDefinition checks a CREATE TABLE and makes the table that it defines.
func tableDefinition(stmt *ast.CreateTable) (*raftlogv1.Table, error) {
	if err := checkTable(stmt); err != nil {
		return nil, err
	}
	columns := make([]*typesv1.Column, len(stmt.Columns))
	for i, c := range stmt.Columns {
		if err := checkColumn(stmt.Columns[:i], c); err != nil {
			return nil, err
		}
		column, err := newColumn(c)
		if err != nil {
			return nil, err
		}
		columns[i] = column
	}
	keys, err := keyColumns(stmt)
	if err != nil {
		return nil, err
	}
	for i := range keys {
		columns[i].Key = true
	}
	table := &raftlogv1.Table{Name: stmt.Table.Name, Schemas: []*typesv1.Schema{{Columns: columns}}, DuplicateKeys: keys,
		Comment: stmt.Comment, Properties: map[string]string{}}
	for _, p := range stmt.Properties {
		table.Properties[strings.ToLower(p.Key)] = p.Value
	}
	if d := stmt.Distribution; d != nil {
		for _, name := range d.Columns {
			i := indexOf(stmt.Columns, name)
			switch {
			case i < 0:
				return nil, errno.New(errno.KeyColumnMissing, "DISTRIBUTED BY HASH: column '%s' doesn't exist in the table", name)
			case !canBeHashed(stmt.Columns[i].Type):
				return nil, errno.New(errno.WrongColumnSpec, "DISTRIBUTED BY HASH: column '%s' is %s, which has no hash", name, stmt.Columns[i].Type)
			}
			table.Distribution = append(table.Distribution, stmt.Columns[i].Name)
		}
		table.Buckets = int32(d.Buckets)
	}
	return table, nil
}

// checkTable refuses what the table as a whole cannot have.
func checkTable(stmt *ast.CreateTable) error {
	if err := checkName(errno.WrongTableName, "table", stmt.Table.Name); err != nil {
		return err
	}
	switch {
	case len(stmt.Unsupported) > 0:
		return errno.New(errno.NotSupportedYet, "CREATE TABLE: %s is not supported yet", strings.Join(stmt.Unsupported, ", "))
	case stmt.KeyModel == ast.UniqueKeys || stmt.KeyModel == ast.AggregateKeys:
		return errno.New(errno.NotSupportedYet, "CREATE TABLE: %s is not supported yet, only DUPLICATE KEY", stmt.KeyModel)
	case stmt.Engine != "" && !strings.EqualFold(stmt.Engine, "olap"):
		return errno.New(errno.NotSupportedYet, "CREATE TABLE: ENGINE=%s is not supported, only OLAP", stmt.Engine)
	case len(stmt.Columns) == 0:
		return errno.New(errno.Syntax, "CREATE TABLE: a table needs a column")
	}
	for _, p := range stmt.Properties {
		if !slices.Contains(tableProperties, strings.ToLower(p.Key)) {
			return errno.New(errno.NotSupportedYet, "CREATE TABLE: unknown property '%s'; known are %s", p.Key, strings.Join(tableProperties, ", "))
		}
	}
	return nil
}

// checkColumn refuses a column that cannot stand beside those before it, or
// not in a Parquet file that others read.
func checkColumn(before []ast.Column, c ast.Column) error {
	if err := checkName(errno.WrongColumnName, "column", c.Name); err != nil {
		return err
	}
	switch {
	case indexOf(before, c.Name) >= 0:
		return errno.New(errno.DuplicateColumn, "Duplicate column name '%s': names must differ by more than case", c.Name)
	case strings.Contains(c.Name, "."):
		return errno.New(errno.WrongColumnName, "Incorrect column name '%s': a dot is not allowed, since readers of Parquet files take it for a path", c.Name)
	case slices.Contains(reservedColumns, strings.ToLower(c.Name)):
		return errno.New(errno.WrongColumnName, "Incorrect column name '%s': Iceberg reserves it", c.Name)
	}
	return nil
}

// indexOf finds a column by name, in any case; -1 if there is none.
func indexOf(columns []ast.Column, name string) int {
	return slices.IndexFunc(columns, func(c ast.Column) bool { return strings.EqualFold(c.Name, name) })
}

// maxShortKeys is how many columns Doris takes as keys when none are named.
const maxShortKeys = 3

// keyColumns are the DUPLICATE KEY columns, which must lead the table. Without
// the clause they are chosen as Doris does: up to three leading columns, none
// of a kind that cannot be a key, ending with the first VARCHAR.
func keyColumns(stmt *ast.CreateTable) ([]string, error) {
	var keys []string
	if stmt.KeyModel == ast.DuplicateKeys {
		for i, name := range stmt.Keys {
			at := indexOf(stmt.Columns, name)
			switch {
			case at < 0:
				return nil, errno.New(errno.KeyColumnMissing, "DUPLICATE KEY: column '%s' doesn't exist in the table", name)
			case at != i:
				return nil, errno.New(errno.KeyColumnMissing, "DUPLICATE KEY: the key columns must be the first columns of the table, in the same order; '%s' is column %d", name, at+1)
			case !canBeKey(stmt.Columns[at].Type):
				return nil, errno.New(errno.WrongColumnSpec, "DUPLICATE KEY: column '%s' is %s, which cannot be a key", name, stmt.Columns[at].Type)
			}
			keys = append(keys, stmt.Columns[at].Name)
		}
		return keys, nil
	}
	for _, c := range stmt.Columns[:min(maxShortKeys, len(stmt.Columns))] {
		if !canBeKey(c.Type) {
			break
		}
		keys = append(keys, c.Name)
		if c.Type.Kind == types.VarChar {
			break
		}
	}
	return keys, nil
}

func canBeKey(t types.Type) bool {
	switch t.Kind {
	case types.Float, types.Double, types.String, types.JSON, types.Variant:
		return false
	}
	return !t.IsNested()
}

// canBeHashed tells what rows may be distributed by.
func canBeHashed(t types.Type) bool {
	return !t.IsNested() && t.Kind != types.JSON && t.Kind != types.Variant
}

func (e *Executor) dropTable(ctx context.Context, s *session.Session, stmt *ast.DropTable) error {
	if isInformationSchema(cmp.Or(stmt.Table.DB, s.DB)) {
		return notWritable()
	}
	db, t, err := e.table(s, stmt.Table)
	if err != nil {
		if errors.Is(err, errno.NoSuchTable) {
			return unless(stmt.IfExists, s, errno.New(errno.BadTable, "Unknown table '%s'", stmt.Table.Name))
		}
		return err
	}
	_, err = e.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_DropTable{DropTable: &raftlogv1.DropTable{TableId: t.Id}}})
	if errors.Is(err, catalog.ErrNoTable) {
		return errno.New(errno.BadTable, "Unknown table '%s.%s'", db.Name, t.Name)
	}
	return err
}
