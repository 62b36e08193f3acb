package catalog_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/state/catalog"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

func TestRenames(t *testing.T) {
	c, next := catalog.New(), ids()
	db, _ := c.CreateDatabase("d", 1, next)
	other, _ := c.CreateDatabase("e", 1, next)
	id, _ := c.CreateTable(definition(db, "t"), 1, next)
	if _, err := c.CreateTable(definition(db, "u"), 1, next); err != nil {
		t.Fatal(err)
	}
	held, heldDB := c.TableByID(id), c.DatabaseByID(db)
	for _, tt := range []struct {
		name      string
		err, want error
	}{
		{"table to itself", c.RenameTable(id, "t"), catalog.ErrTableExists},
		{"table to another's", c.RenameTable(id, "u"), catalog.ErrTableExists},
		{"table to nothing", c.RenameTable(id, ""), catalog.ErrBadTable},
		{"no table", c.RenameTable(99, "v"), catalog.ErrNoTable},
		{"table", c.RenameTable(id, "größe"), nil},
		{"database to itself", c.RenameDatabase(db, "d"), catalog.ErrDatabaseExists},
		{"database to another's", c.RenameDatabase(db, "e"), catalog.ErrDatabaseExists},
		{"database to nothing", c.RenameDatabase(db, ""), catalog.ErrNoDatabase},
		{"no database", c.RenameDatabase(99, "v"), catalog.ErrNoDatabase},
		{"database", c.RenameDatabase(db, "my-db"), nil},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
		}
	}
	if c.Table(db, "t") != nil || c.Table(db, "größe").GetId() != id || c.Database("d") != nil || c.Database("my-db").GetId() != db {
		t.Error("an old name is known, or a new one is not")
	}
	if held.Name != "t" || heldDB.Name != "d" {
		t.Error("a rename changed what readers hold")
	}
	if _, err := c.CreateTable(definition(db, "t"), 1, next); err != nil {
		t.Errorf("the free name is not to be had: %v", err)
	}
	if c.DatabaseByID(other).Name != "e" {
		t.Error("another database was renamed")
	}
}

// columns prints a schema as id:name, with * for keys.
func columns(s *typesv1.Schema) string {
	var out []string
	for _, c := range s.Columns {
		key := ""
		if c.Key {
			key = "*"
		}
		out = append(out, fmt.Sprintf("%d:%s%s", c.FieldId, c.Name, key))
	}
	return fmt.Sprint(s.Version, out)
}

func TestAlterTable(t *testing.T) {
	c, next := catalog.New(), ids()
	db, _ := c.CreateDatabase("d", 1, next)
	def := definition(db, "t")
	def.Schemas[0].Columns[0].Key = true
	def.DuplicateKeys, def.Distribution = []string{"id"}, []string{"id"}
	id, _ := c.CreateTable(def, 1, next)
	held := c.TableByID(id)
	column := func(id int32, name string) *typesv1.Column {
		return &typesv1.Column{FieldId: id, Name: name, Type: "int", Key: id == 1}
	}
	for _, tt := range []struct {
		name    string
		from    uint32
		columns []*typesv1.Column
		want    string
		err     error
	}{
		{"add two", 1, []*typesv1.Column{column(1, "id"), column(0, "a"), column(2, "s"), column(0, "b")}, "2 [1:id* 3:a 2:s 4:b]", nil},
		{"an old version", 1, []*typesv1.Column{column(1, "id")}, "", catalog.ErrSchemaChanged},
		{"drop and rename", 2, []*typesv1.Column{column(1, "key"), column(4, "a")}, "3 [1:key* 4:a]", nil},
		{"a dropped one", 3, []*typesv1.Column{column(1, "key"), column(3, "b")}, "", catalog.ErrBadTable},
		{"one twice", 3, []*typesv1.Column{column(1, "key"), column(1, "b")}, "", catalog.ErrBadTable},
		{"a name twice", 3, []*typesv1.Column{column(1, "key"), column(0, "KEY")}, "", catalog.ErrBadTable},
		{"none", 3, nil, "", catalog.ErrBadTable},
		{"the dropped name again", 3, []*typesv1.Column{column(0, "b"), column(4, "a"), column(1, "key")}, "4 [5:b 4:a 1:key*]", nil},
	} {
		command := &raftlogv1.AlterTable{TableId: id, FromVersion: tt.from, Columns: tt.columns}
		before := proto.Clone(command)
		if err := c.AlterTable(command); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
		}
		if !proto.Equal(command, before) {
			t.Errorf("%s: AlterTable changed its command", tt.name)
		}
		got := c.TableByID(id)
		if s := columns(got.Schemas[len(got.Schemas)-1]); tt.err == nil && s != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, s, tt.want)
		}
	}
	got := c.TableByID(id)
	if !slices.Equal(got.DuplicateKeys, []string{"key"}) || !slices.Equal(got.Distribution, []string{"key"}) || len(got.Schemas) != 4 {
		t.Errorf("the table is %v", got)
	}
	if len(held.Schemas) != 1 || held.DuplicateKeys[0] != "id" {
		t.Error("AlterTable changed what readers hold")
	}
	if err := c.AlterTable(&raftlogv1.AlterTable{TableId: 99, FromVersion: 1}); !errors.Is(err, catalog.ErrNoTable) {
		t.Errorf("AlterTable of no table = %v", err)
	}
	comment := &raftlogv1.AlterTable{TableId: id, FromVersion: 4, Columns: got.Schemas[3].Columns, Comment: proto.String("c")}
	if err := c.AlterTable(comment); err != nil || c.TableByID(id).Comment != "c" {
		t.Errorf("the comment is %q (%v)", c.TableByID(id).Comment, err)
	}
}

func TestTruncateTable(t *testing.T) {
	c, next := catalog.New(), ids()
	db, _ := c.CreateDatabase("d", 1, next)
	id, _ := c.CreateTable(definition(db, "t"), 1, next)
	c.AddRowset(rowset(id, 10))
	c.AddRowset(rowset(id, 11))
	held := c.Rowsets(id)
	if err := c.TruncateTable(99, 12); !errors.Is(err, catalog.ErrNoTable) {
		t.Errorf("TruncateTable of no table = %v", err)
	}
	if err := c.TruncateTable(id, 12); err != nil {
		t.Fatal(err)
	}
	if len(c.Rowsets(id)) != 0 || c.TableByID(id).Version != 12 {
		t.Errorf("%d rowsets are left, version %d", len(c.Rowsets(id)), c.TableByID(id).Version)
	}
	c.AddRowset(rowset(id, 13))
	if len(held) != 2 || held[0].TxnId != 10 || len(c.Rowsets(id)) != 1 {
		t.Errorf("a reader has %v, the table %v", held, c.Rowsets(id))
	}
}

func TestFiles(t *testing.T) {
	c, next := catalog.New(), ids()
	db, _ := c.CreateDatabase("d", 1, next)
	file := func(name string) *raftlogv1.File {
		return &raftlogv1.File{DatabaseId: db, Catalog: "kafka", Name: name, Content: []byte("x"), Size: 1}
	}
	large, elsewhere := file("large"), file("elsewhere")
	large.Size, elsewhere.DatabaseId = catalog.MaxFileSize+1, 99
	for _, tt := range []struct {
		file *raftlogv1.File
		want error
	}{{file("a"), nil}, {file("a"), catalog.ErrFileExists}, {file(""), catalog.ErrBadFile}, {large, catalog.ErrBadFile}, {elsewhere, catalog.ErrNoDatabase}, {nil, catalog.ErrBadFile}} {
		if _, err := c.CreateFile(tt.file, next); !errors.Is(err, tt.want) {
			t.Errorf("CreateFile(%v) = %v, want %v", tt.file, err, tt.want)
		}
	}
	if f := c.File(db, "kafka", "a"); f.GetId() == 0 || c.File(db, "other", "a") != nil || c.File(db+1, "kafka", "a") != nil {
		t.Errorf("File = %v", f)
	}
	for i := 1; i < catalog.MaxFiles; i++ {
		if _, err := c.CreateFile(file(fmt.Sprint(i)), next); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.CreateFile(file("one more"), next); !errors.Is(err, catalog.ErrTooManyFiles) {
		t.Errorf("one file more than allowed: %v", err)
	}
	if err := c.DropFile(&raftlogv1.DropFile{DatabaseId: db, Catalog: "kafka", Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := c.DropFile(&raftlogv1.DropFile{DatabaseId: db, Catalog: "kafka", Name: "a"}); !errors.Is(err, catalog.ErrNoFile) {
		t.Errorf("second DropFile = %v", err)
	}
	if got := c.Files(db); len(got) != catalog.MaxFiles-1 || got[0].Name != "1" {
		t.Errorf("%d files, the first is %v", len(got), got[0])
	}
	if err := c.DropDatabase("d"); err != nil || len(c.Files(db)) != 0 {
		t.Errorf("after DropDatabase (%v) there are %d files", err, len(c.Files(db)))
	}
	if err := c.RestoreFile(file("a")); err == nil {
		t.Error("a file was restored without its database")
	}
}
