package stmt_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"shoal/fe/errno"
	"shoal/fe/result"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
	typesv1 "shoal/proto/types/v1"
)

// TestCreateFileFromURL: a file is what its URL had at that moment, is stored
// sealed, and is what clients are made with.
func TestCreateFileFromURL(t *testing.T) {
	f := newFrontend(t)
	s := f.connect()
	const key = "-----BEGIN PRIVATE KEY-----"
	served := key
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/key.pem" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, served)
	}))
	defer server.Close()
	run := func(sql string) error { return f.Execute(t.Context(), s, sql, nil, &result.Description{}) }
	for _, sql := range []string{"CREATE DATABASE d", "USE d"} {
		if err := run(sql); err != nil {
			t.Fatal(err)
		}
	}
	create := func(name, path string) error {
		return run(fmt.Sprintf("CREATE FILE %q PROPERTIES ('catalog' = 'kafka', 'url' = '%s/%s')", name, server.URL, path))
	}
	if err := create("key.pem", "key.pem"); err != nil {
		t.Fatal(err)
	}
	if err := create("nothing", "nothing"); err == nil || !strings.Contains(errno.From(err).Msg, "404") {
		t.Errorf("a file that is not there: %v", err)
	}
	served = ""
	if err := create("empty", "key.pem"); err == nil || !strings.Contains(errno.From(err).Msg, "empty") {
		t.Errorf("an empty file: %v", err)
	}
	served = strings.Repeat("x", catalog.MaxFileSize+1)
	if err := create("large", "key.pem"); err == nil || !strings.Contains(errno.From(err).Msg, "too large") {
		t.Errorf("a file that is too large: %v", err)
	}
	served = served[1:]
	if err := create("largest", "key.pem"); err != nil {
		t.Errorf("a file as large as allowed: %v", err)
	}
	if err := run(fmt.Sprintf("CREATE FILE 'pasted' PROPERTIES ('catalog' = 'kafka', 'content' = '%s')", served+"x")); err == nil || !strings.Contains(errno.From(err).Msg, "are the most") {
		t.Errorf("a content that is too large: %v", err)
	}
	var db uint64
	var snapshot bytes.Buffer
	f.store.View(func(st *state.State) {
		db = st.Database("d").Id
		if err := st.WriteSnapshot(&snapshot); err != nil {
			t.Error(err)
		}
	})
	if bytes.Contains(snapshot.Bytes(), []byte("PRIVATE KEY")) {
		t.Error("a private key is in the snapshot")
	}
	_, files, err := f.secrets.Open(db, &typesv1.RoutineLoad{CustomProperties: map[string]string{"ssl.key.location": "FILE:key.pem"}})
	if err != nil || string(files["key.pem"]) != key {
		t.Errorf("a client is made with %q (%v)", files, err)
	}
}

// TestManyFiles: a database has at most a hundred.
func TestManyFiles(t *testing.T) {
	f := newFrontend(t)
	s := f.connect()
	run := func(sql string) error { return f.Execute(t.Context(), s, sql, nil, &result.Description{}) }
	for _, sql := range []string{"CREATE DATABASE d", "CREATE DATABASE e", "USE d"} {
		if err := run(sql); err != nil {
			t.Fatal(err)
		}
	}
	for i := range catalog.MaxFiles {
		if err := run(fmt.Sprintf("CREATE FILE '%d' PROPERTIES ('catalog' = 'kafka', 'content' = 'x')", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := run("CREATE FILE 'one more' PROPERTIES ('catalog' = 'kafka', 'content' = 'x')"); err == nil || !strings.Contains(errno.From(err).Msg, "100 files") {
		t.Errorf("one more: %v", err)
	}
	if err := run("CREATE FILE 'one more' IN e PROPERTIES ('catalog' = 'kafka', 'content' = 'x')"); err != nil {
		t.Errorf("in another database: %v", err)
	}
}
