package stmt

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"

	"shoal/fe/errno"
	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/fe/state"
	"shoal/fe/state/catalog"
	raftlogv1 "shoal/proto/raftlog/v1"
	"shoal/sql/ast"
)

// fileProperties are those of CREATE FILE; content is ours, for a file that is
// pasted into the statement.
type fileProperties struct{ catalog, url, content, md5 string }

func readFileProperties(statement string, properties ast.Properties, known ...string) (fileProperties, error) {
	var f fileProperties
	fields := map[string]*string{"catalog": &f.catalog, "url": &f.url, "content": &f.content, "md5": &f.md5}
	for _, p := range properties {
		key := strings.ToLower(p.Key)
		if !slices.Contains(known, key) {
			return f, errno.New(errno.Unknown, "%s: unknown property '%s'; known are %s", statement, p.Key, strings.Join(known, ", "))
		}
		*fields[key] = p.Value
	}
	if f.catalog == "" {
		return f, errno.New(errno.Unknown, `%s: the property "catalog" is missing; files that property.* of a routine load job names are in "kafka"`, statement)
	}
	return f, nil
}

// createFile keeps a small file in the cluster: what is at a URL now, or the
// content that the statement has.
func (e *Executor) createFile(ctx context.Context, s *session.Session, stmt *ast.CreateFile) error {
	db, err := e.fileDatabase(s, stmt.File.DB)
	if err != nil {
		return err
	}
	if err := checkName(errno.Unknown, "file", stmt.File.Name); err != nil {
		return err
	}
	properties, err := readFileProperties("CREATE FILE", stmt.Properties, "catalog", "url", "content", "md5")
	if err != nil {
		return err
	}
	if err := checkName(errno.Unknown, "catalog", properties.catalog); err != nil {
		return err
	}
	if e.file(db.Id, properties.catalog, stmt.File.Name) != nil {
		return fileExists(stmt.File.Name)
	}
	content, err := e.fileContent(ctx, properties)
	if err != nil {
		return err
	}
	file := &raftlogv1.File{DatabaseId: db.Id, Catalog: properties.catalog, Name: stmt.File.Name, Content: content, Md5: md5Of(content), Size: int64(len(content))}
	if properties.md5 != "" && !strings.EqualFold(properties.md5, file.Md5) {
		return errno.New(errno.Unknown, "CREATE FILE: the md5 of the file is %s, not %s", file.Md5, properties.md5)
	}
	if file, err = e.cfg.Secrets.SealFile(file); err != nil {
		return errno.Wrap(errno.Unknown, err, "CREATE FILE: the content could not be sealed: %v", err)
	}
	_, err = e.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_CreateFile{CreateFile: &raftlogv1.CreateFile{File: file}}})
	switch {
	case errors.Is(err, catalog.ErrFileExists):
		return fileExists(stmt.File.Name)
	case errors.Is(err, catalog.ErrTooManyFiles):
		return errno.New(errno.Unknown, "CREATE FILE: database '%s' has %d files already, which is the most; DROP some", db.Name, catalog.MaxFiles)
	case errors.Is(err, catalog.ErrNoDatabase):
		return errno.New(errno.UnknownDatabase, "Unknown database '%s'", db.Name)
	}
	return err
}

func fileExists(name string) error {
	return errno.New(errno.Unknown, "File '%s' already exists in this catalog; DROP FILE it first", name)
}

func md5Of(content []byte) string {
	sum := md5.Sum(content)
	return hex.EncodeToString(sum[:])
}

// fileContent is what the properties say that the file holds.
func (e *Executor) fileContent(ctx context.Context, f fileProperties) ([]byte, error) {
	switch {
	case (f.url == "") == (f.content == ""):
		return nil, errno.New(errno.Unknown, `CREATE FILE: give "url", where the file is, or "content", what is in it`)
	case len(f.content) > catalog.MaxFileSize:
		return nil, errno.New(errno.Unknown, "CREATE FILE: the content has %d bytes; %d are the most", len(f.content), catalog.MaxFileSize)
	case f.content != "":
		return []byte(f.content), nil
	}
	content, err := e.cfg.Download(ctx, f.url, catalog.MaxFileSize)
	switch {
	case err != nil:
		return nil, errno.Wrap(errno.Unknown, err, `CREATE FILE: "url": %v`, err)
	case len(content) == 0:
		return nil, errno.New(errno.Unknown, `CREATE FILE: "url": the file is empty`)
	}
	return content, nil
}

func (e *Executor) dropFile(ctx context.Context, s *session.Session, stmt *ast.DropFile) error {
	db, err := e.fileDatabase(s, stmt.File.DB)
	if err != nil {
		return err
	}
	properties, err := readFileProperties("DROP FILE", stmt.Properties, "catalog")
	if err != nil {
		return err
	}
	_, err = e.propose(ctx, &raftlogv1.Command{Body: &raftlogv1.Command_DropFile{
		DropFile: &raftlogv1.DropFile{DatabaseId: db.Id, Catalog: properties.catalog, Name: stmt.File.Name}}})
	if errors.Is(err, catalog.ErrNoFile) {
		return errno.New(errno.Unknown, "File '%s' doesn't exist in catalog '%s' of database '%s'", stmt.File.Name, properties.catalog, db.Name)
	}
	return err
}

// showFiles answers SHOW FILE, with Doris's columns and never a content.
func (e *Executor) showFiles(s *session.Session, stmt *ast.ShowFiles) (*result.Table, error) {
	db, err := e.fileDatabase(s, stmt.DB)
	if err != nil {
		return nil, err
	}
	t := &result.Table{Columns: result.Texts("Id", "DbName", "Catalog", "FileName", "FileSize", "IsContent", "MD5")}
	e.cfg.Store.View(func(st *state.State) {
		for _, f := range st.Files(db.Id) {
			t.Rows = append(t.Rows, texts(strconv.FormatUint(f.Id, 10), db.Name, f.Catalog, f.Name, strconv.FormatInt(f.Size, 10), "true", f.Md5)...)
		}
	})
	return t, nil
}

// fileDatabase is the database that files of a statement are in.
func (e *Executor) fileDatabase(s *session.Session, named string) (*raftlogv1.Database, error) {
	dbName, err := databaseOf(s, named)
	switch {
	case err != nil:
		return nil, err
	case isInformationSchema(dbName):
		return nil, notWritable()
	}
	return e.database(dbName)
}

func (e *Executor) file(databaseID uint64, catalog, name string) (file *raftlogv1.File) {
	e.cfg.Store.View(func(st *state.State) { file = st.File(databaseID, catalog, name) })
	return file
}
