package catalog_test

import (
	"errors"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state/catalog"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// ids is a counter of ids from 1.
func ids() func() uint64 {
	var last uint64
	return func() uint64 {
		last++
		return last
	}
}

func definition(databaseID uint64, name string) *raftlogv1.Table {
	return &raftlogv1.Table{DatabaseId: databaseID, Name: name, Schemas: []*typesv1.Schema{{
		Columns: []*typesv1.Column{{Name: "id", Type: "int"}, {Name: "s", Type: "text"}},
	}}}
}

func rowset(tableID, txnID uint64) *raftlogv1.TableRowset {
	return &raftlogv1.TableRowset{TableId: tableID, TxnId: txnID, Rowset: &typesv1.Rowset{Path: "p"}}
}

func TestDatabases(t *testing.T) {
	c, next := catalog.New(), ids()
	for _, tt := range []struct {
		name string
		want error
	}{{"b", nil}, {"a", nil}, {"B", nil}, {"b", catalog.ErrDatabaseExists}, {"", catalog.ErrNoDatabase}} {
		if _, err := c.CreateDatabase(tt.name, 5, next); !errors.Is(err, tt.want) {
			t.Errorf("CreateDatabase(%q) = %v, want %v", tt.name, err, tt.want)
		}
	}
	var names []string
	for _, d := range c.Databases() {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"B", "a", "b"}) {
		t.Errorf("Databases = %v", names)
	}
	if d := c.Database("a"); d == nil || c.DatabaseByID(d.Id) != d || d.CreatedMs != 5 {
		t.Errorf("Database(a) = %v", d)
	}
	if err := c.DropDatabase("c"); !errors.Is(err, catalog.ErrNoDatabase) {
		t.Errorf("DropDatabase(c) = %v, want ErrNoDatabase", err)
	}
}

func TestTables(t *testing.T) {
	c, next := catalog.New(), ids()
	db, _ := c.CreateDatabase("d", 1, next)
	def := definition(db, "t")
	before := proto.Clone(def)
	id, err := c.CreateTable(def, 7, next)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(def, before) {
		t.Error("CreateTable changed its command")
	}
	got := c.Table(db, "t")
	if got != c.TableByID(id) || got.Schemas[0].Columns[1].FieldId != 2 || got.Schemas[0].Version != 1 || got.LastFieldId != 2 || got.CreatedMs != 7 {
		t.Errorf("Table = %v", got)
	}
	for name, tt := range map[string]struct {
		def  *raftlogv1.Table
		want error
	}{
		"same name":    {definition(db, "t"), catalog.ErrTableExists},
		"other case":   {definition(db, "T"), nil},
		"no database":  {definition(99, "t"), catalog.ErrNoDatabase},
		"no columns":   {&raftlogv1.Table{DatabaseId: db, Name: "x"}, catalog.ErrBadTable},
		"no table":     {nil, catalog.ErrBadTable},
		"without name": {definition(db, ""), catalog.ErrBadTable},
	} {
		if _, err := c.CreateTable(tt.def, 8, next); !errors.Is(err, tt.want) {
			t.Errorf("%s: CreateTable = %v, want %v", name, err, tt.want)
		}
	}
	if tables := c.Tables(db); len(tables) != 2 || tables[0].Name != "T" {
		t.Errorf("Tables = %v", tables)
	}
	if err := c.DropTable(id); err != nil {
		t.Fatal(err)
	}
	if err := c.DropTable(id); !errors.Is(err, catalog.ErrNoTable) {
		t.Errorf("second DropTable = %v, want ErrNoTable", err)
	}
	if again, err := c.CreateTable(def, 9, next); err != nil || again == id {
		t.Errorf("table made again has id %d (%v), want a new one", again, err)
	}
}

func TestRowsets(t *testing.T) {
	c, next := catalog.New(), ids()
	db, _ := c.CreateDatabase("d", 1, next)
	id, _ := c.CreateTable(definition(db, "t"), 1, next)
	if err := c.CheckWrite(db, id, 1); err != nil {
		t.Errorf("CheckWrite = %v", err)
	}
	if err := c.CheckWrite(db, id, 2); !errors.Is(err, catalog.ErrSchemaChanged) {
		t.Errorf("CheckWrite of another version = %v, want ErrSchemaChanged", err)
	}
	if err := c.CheckWrite(db, 99, 1); !errors.Is(err, catalog.ErrNoTable) {
		t.Errorf("CheckWrite of an unknown table = %v, want ErrNoTable", err)
	}
	if err := c.CheckWrite(db+1, id, 1); !errors.Is(err, catalog.ErrNoTable) {
		t.Errorf("CheckWrite of another database's table = %v, want ErrNoTable", err)
	}
	table := c.TableByID(id)
	for txn := uint64(10); txn < 20; txn++ {
		held := c.Rowsets(id)
		c.AddRowset(rowset(id, txn))
		if got := uint64(len(held)); got != txn-10 {
			t.Fatalf("a reader's version has %d rowsets, want %d", got, txn-10)
		}
		_ = append(held, rowset(id, 1)) // a careless reader
	}
	if table.Version != 0 || c.TableByID(id).Version != 19 {
		t.Errorf("versions of the table held and now: %d, %d; want 0, 19", table.Version, c.TableByID(id).Version)
	}
	for i, r := range c.Rowsets(id) {
		if r.TxnId != uint64(10+i) {
			t.Errorf("rowset %d is of txn %d", i, r.TxnId)
		}
	}
	if err := c.DropDatabase("d"); err != nil || c.TableByID(id) != nil || len(c.Rowsets(id)) != 0 {
		t.Errorf("after DropDatabase (%v) the table is %v with %d rowsets", err, c.TableByID(id), len(c.Rowsets(id)))
	}
}

func TestRestoreRefusesWhatCannotBe(t *testing.T) {
	c := catalog.New()
	table := definition(1, "t")
	table.Id = 2
	for _, tt := range []struct {
		name string
		err  error
		ok   bool
	}{
		{"table without database", c.RestoreTable(table), false},
		{"database", c.RestoreDatabase(&raftlogv1.Database{Id: 1, Name: "d"}), true},
		{"database twice", c.RestoreDatabase(&raftlogv1.Database{Id: 1, Name: "e"}), false},
		{"database name twice", c.RestoreDatabase(&raftlogv1.Database{Id: 3, Name: "d"}), false},
		{"rowset without table", c.RestoreRowset(rowset(2, 5)), false},
		{"table without schema", c.RestoreTable(&raftlogv1.Table{Id: 2, DatabaseId: 1, Name: "t"}), false},
		{"table", c.RestoreTable(table), true},
		{"table twice", c.RestoreTable(table), false},
		{"rowset", c.RestoreRowset(rowset(2, 5)), true},
		{"older rowset", c.RestoreRowset(rowset(2, 4)), false},
	} {
		if (tt.err == nil) != tt.ok {
			t.Errorf("%s: %v, want ok %v", tt.name, tt.err, tt.ok)
		}
	}
}
