package credentials_test

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"shoal/fe/credentials"
	"shoal/fe/seal"
	"shoal/fe/state"
	raftlogv1 "shoal/proto/raftlog/v1"
	typesv1 "shoal/proto/types/v1"
)

// memory is a state without a log.
type memory struct {
	state *state.State
	index uint64
}

func (m *memory) View(f func(*state.State)) { f(m.state) }

func (m *memory) apply(t *testing.T, cmd *raftlogv1.Command) uint64 {
	t.Helper()
	m.index++
	r := m.state.Apply(m.index, cmd)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r.ID
}

// cluster is a state with a database and a table, and a keeper of its secrets.
func cluster(t *testing.T, dir string) (m *memory, k *credentials.Keeper, database, table uint64) {
	t.Helper()
	m = &memory{state: state.New()}
	m.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_Bootstrap{Bootstrap: &raftlogv1.Bootstrap{ClusterId: "c1", Warehouse: "file:///w"}}})
	database = m.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateDatabase{CreateDatabase: &raftlogv1.CreateDatabase{Name: "db"}}})
	table = m.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateTable{CreateTable: &raftlogv1.CreateTable{Table: &raftlogv1.Table{
		DatabaseId: database, Name: "t", Schemas: []*typesv1.Schema{{Columns: []*typesv1.Column{{Name: "a", Type: "int"}}}}}}}})
	k = credentials.New(m, seal.New(dir))
	if err := k.Unlock(); err != nil {
		t.Fatal(err)
	}
	return m, k, database, table
}

func (m *memory) create(t *testing.T, database, table uint64, load *typesv1.RoutineLoad) {
	t.Helper()
	m.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateRoutineLoad{CreateRoutineLoad: &raftlogv1.CreateRoutineLoad{
		GroupPrefix: "g", Job: &raftlogv1.Job{DatabaseId: database, TableId: table, Name: "j", Load: load}}}})
}

func TestProperties(t *testing.T) {
	_, k, database, _ := cluster(t, t.TempDir())
	written := map[string]string{
		"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "hunter2",
		"ssl.key.password": "${env:SHOAL_SECRET_KEY}",
	}
	load := &typesv1.RoutineLoad{Topic: "t", CustomProperties: written}
	before := proto.Clone(load)
	stored, err := k.Seal(load)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(load, before) {
		t.Error("Seal changed what it was given")
	}
	for key, value := range stored.CustomProperties {
		if sealed := seal.KeyID(value) != ""; sealed != (key == "sasl.password") {
			t.Errorf("%s is stored as %q", key, value)
		}
	}
	properties, files, err := k.Open(database, stored)
	if err != nil || !maps.Equal(properties, written) || len(files) != 0 {
		t.Errorf("Open = %v, %v, %v", properties, files, err)
	}
	if seal.KeyID(stored.CustomProperties["sasl.password"]) == "" {
		t.Error("Open changed what is stored")
	}
	// What older releases stored is in clear.
	if properties, _, err = k.Open(database, load); err != nil || !maps.Equal(properties, written) {
		t.Errorf("Open of clear properties = %v, %v", properties, err)
	}
}

// TestFoundText: a sealed text that somebody got hold of does not open for him
// when he writes it as his own password.
func TestFoundText(t *testing.T) {
	_, k, database, _ := cluster(t, t.TempDir())
	victim, err := k.Seal(&typesv1.RoutineLoad{CustomProperties: map[string]string{"sasl.password": "hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	found := victim.CustomProperties["sasl.password"]
	his, err := k.Seal(&typesv1.RoutineLoad{CustomProperties: map[string]string{"sasl.password": found}})
	if err != nil {
		t.Fatal(err)
	}
	if properties, _, err := k.Open(database, his); err != nil || properties["sasl.password"] != found {
		t.Errorf("his password is %v (%v), want the text that he wrote", properties, err)
	}
}

func TestFiles(t *testing.T) {
	m, k, database, _ := cluster(t, t.TempDir())
	load := &typesv1.RoutineLoad{CustomProperties: map[string]string{"security.protocol": "ssl", "ssl.ca.location": "FILE:ca.pem"}}
	if _, _, err := k.Open(database, load); !errors.Is(err, credentials.ErrNoFile) || !strings.Contains(err.Error(), "FILE:ca.pem") {
		t.Errorf("Open without the file = %v, want ErrNoFile with its name", err)
	}
	file := &raftlogv1.File{DatabaseId: database, Catalog: credentials.FileCatalog, Name: "ca.pem", Content: []byte("-----BEGIN"), Size: 10}
	stored, err := k.SealFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateFile{CreateFile: &raftlogv1.CreateFile{File: stored}}})
	if _, files, err := k.Open(database, load); err != nil || string(files["ca.pem"]) != "-----BEGIN" {
		t.Errorf("Open = %v, %v", files, err)
	}
	if _, _, err := k.Open(database+1, load); !errors.Is(err, credentials.ErrNoFile) {
		t.Errorf("Open in another database = %v, want ErrNoFile", err)
	}
	// Under another name its content does not open.
	stored.Name = "other.pem"
	m.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateFile{CreateFile: &raftlogv1.CreateFile{File: stored}}})
	load.CustomProperties["ssl.ca.location"] = "FILE:other.pem"
	if _, _, err := k.Open(database, load); err == nil {
		t.Error("a content opens under another name")
	}
}

// TestNothingInClear: neither log entries nor snapshots have a secret, and the
// next process needs the same key to go on.
func TestNothingInClear(t *testing.T) {
	dir := t.TempDir()
	m, k, database, table := cluster(t, dir)
	load, err := k.Seal(&typesv1.RoutineLoad{CustomProperties: map[string]string{"sasl.password": "hunter2"}})
	if err != nil {
		t.Fatal(err)
	}
	m.create(t, database, table, load)
	file, err := k.SealFile(&raftlogv1.File{DatabaseId: database, Catalog: "kafka", Name: "key.pem", Content: []byte("-----BEGIN PRIVATE KEY")})
	if err != nil {
		t.Fatal(err)
	}
	m.apply(t, &raftlogv1.Command{Body: &raftlogv1.Command_CreateFile{CreateFile: &raftlogv1.CreateFile{File: file}}})
	var snapshot bytes.Buffer
	if err := m.state.WriteSnapshot(&snapshot); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "PRIVATE KEY"} {
		if bytes.Contains(snapshot.Bytes(), []byte(secret)) {
			t.Errorf("%q is in the snapshot", secret)
		}
	}
	restored, err := state.ReadSnapshot(&snapshot)
	if err != nil {
		t.Fatal(err)
	}
	next := &memory{state: restored}
	if err := credentials.New(next, seal.New(dir)).Unlock(); err != nil {
		t.Errorf("the next process: %v", err)
	}
	if err := credentials.New(next, seal.New(t.TempDir())).Unlock(); err == nil {
		t.Error("a process without the key makes another one")
	}
}
