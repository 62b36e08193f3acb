package parse

import (
	"strconv"
	"strings"

	"shoal/sql/ast"
)

// unsupported are the first words of statements that MySQL or Doris has and
// Shoal does not, and how many more words name the statement.
var unsupported = map[string]int{
	"INSERT": 0, "UPDATE": 0, "DELETE": 0, "REPLACE": 0, "MERGE": 0, "LOAD": 1, "COPY": 0, "EXPORT": 0,
	"IMPORT": 0, "GRANT": 0, "REVOKE": 0, "RENAME": 1, "ANALYZE": 1, "OPTIMIZE": 1, "CHECK": 1, "REPAIR": 1,
	"CALL": 0, "DO": 0, "HANDLER": 0, "PREPARE": 0, "EXECUTE": 0, "DEALLOCATE": 1, "INSTALL": 0, "UNINSTALL": 0,
	"BACKUP": 0, "RESTORE": 0, "RECOVER": 1, "REFRESH": 1, "SYNC": 0, "CLEAN": 1, "SWITCH": 0, "UNSET": 1,
	"RESET": 1, "PURGE": 1, "CHANGE": 1, "SHUTDOWN": 0, "XA": 1, "WARM": 1, "ATTACH": 0, "DETACH": 0, "PRAGMA": 0,
	"CHECKPOINT": 0, "VACUUM": 0, "SUMMARIZE": 0, "PIVOT": 0, "UNPIVOT": 0, "COMMENT": 0, "BINLOG": 0, "CACHE": 0,
}

func (p *parser) statement() ast.Stmt {
	first := p.peek()
	if first.isSymbol("(") {
		return &ast.Select{Text: p.rest()}
	}
	if first.Kind != Word {
		p.fail("expected a statement")
	}
	switch keyword := strings.ToUpper(first.Value); keyword {
	case "SELECT", "WITH", "VALUES", "TABLE":
		return &ast.Select{Text: p.rest()}
	case "EXPLAIN", "DESC", "DESCRIBE":
		return p.describe()
	case "CREATE":
		return p.create()
	case "DROP":
		return p.drop()
	case "ALTER":
		return p.alter()
	case "TRUNCATE":
		return p.truncate()
	case "SHOW":
		return p.show()
	case "PAUSE", "RESUME", "STOP":
		return p.control()
	case "USE":
		return p.use()
	case "SET":
		return p.set()
	case "KILL":
		return p.kill()
	case "ADMIN":
		p.take()
		return p.admin()
	case "CANCEL":
		if p.sees("CANCEL", "DECOMMISSION") {
			return p.cancelDecommission()
		}
		return p.unsupported(2)
	case "HELP":
		p.take()
		return &ast.Help{Topic: p.rest()}
	default:
		if stmt := p.noOp(); stmt != nil {
			return stmt
		}
		if more, ok := unsupported[keyword]; ok {
			return p.unsupported(1 + more)
		}
	}
	p.fail("expected a statement")
	return nil
}

// unsupported names the statement by its next count words.
func (p *parser) unsupported(count int) ast.Stmt {
	var words []string
	for i := range count {
		if t := p.ahead(i); t.Kind == Word {
			words = append(words, strings.ToUpper(t.Value))
		}
	}
	p.next = len(p.tokens) - 1
	return &ast.Unsupported{What: strings.Join(words, " ")}
}

// describe parses EXPLAIN, DESC and DESCRIBE, of a query, of CREATE ROUTINE
// LOAD or of a table.
func (p *parser) describe() ast.Stmt {
	p.take()
	for {
		if _, ok := p.acceptOne("VERBOSE", "PLAN", "EXTENDED"); !ok {
			break
		}
	}
	if p.accept("ANALYZE") {
		p.next--
		return p.unsupportedAs("EXPLAIN ANALYZE")
	}
	if p.accept("FORMAT") {
		p.expectSymbol("=")
		p.take()
	}
	t := p.peek()
	if t.isSymbol("(") || t.is("SELECT") || t.is("WITH") || t.is("VALUES") || t.is("TABLE") {
		return &ast.Explain{Text: p.rest()}
	}
	if t.is("CREATE") && p.ahead(1).Kind == Word {
		if create, ok := p.create().(*ast.CreateRoutineLoad); ok {
			return &ast.ExplainRoutineLoad{Create: create}
		}
		return p.unsupportedAs("EXPLAIN CREATE")
	}
	if _, known := unsupported[strings.ToUpper(t.Value)]; known && t.Kind == Word && p.ahead(1).Kind != EndOfText {
		return p.unsupportedAs("EXPLAIN " + strings.ToUpper(t.Value))
	}
	show := &ast.ShowColumns{Table: p.table()}
	p.accept("ALL")
	switch p.peek().Kind {
	case String:
		pattern := p.stringLiteral("a pattern")
		show.Filter.Like = &pattern
	case Word, QuotedName:
		column := p.name("a column name")
		show.Filter.Like = &column
	}
	return show
}

func (p *parser) unsupportedAs(what string) ast.Stmt {
	p.next = len(p.tokens) - 1
	return &ast.Unsupported{What: what}
}

// table takes a table's name; a catalog before the database must be Doris's
// own, internal.
func (p *parser) table() ast.Name {
	n := p.qualified("a table name")
	if p.acceptSymbol(".") {
		if !strings.EqualFold(n.DB, "internal") {
			p.fail("expected the catalog internal, the only one there is, instead of " + ast.QuoteName(n.DB) + ",")
		}
		n = ast.Name{DB: n.Name, Name: p.anyName("a table name")}
	}
	return n
}

func (p *parser) create() ast.Stmt {
	p.take()
	switch {
	case p.accept("ROUTINE"):
		p.expect("LOAD")
		return p.createRoutineLoad()
	case p.sees("DATABASE"), p.sees("SCHEMA"):
		p.take()
		return p.createDatabase()
	case p.accept("TABLE"):
		return p.createTable()
	case p.accept("FILE"):
		return p.createFile()
	case p.accept("EXTERNAL", "TABLE"), p.accept("TEMPORARY", "TABLE"):
		return p.unsupportedAs("CREATE " + strings.ToUpper(p.tokens[1].Value) + " TABLE")
	}
	return p.unsupportedAfter("CREATE")
}

// unsupportedAfter is for the statements that start with a keyword, already
// taken, and one more word.
func (p *parser) unsupportedAfter(keyword string) ast.Stmt {
	if p.peek().Kind != Word {
		p.fail("expected what to " + strings.ToLower(keyword))
	}
	return p.unsupportedAs(keyword + " " + strings.ToUpper(p.peek().Value))
}

func (p *parser) createDatabase() ast.Stmt {
	c := &ast.CreateDatabase{IfNotExists: p.accept("IF", "NOT", "EXISTS"), Name: p.name("a database name")}
	for {
		switch {
		case p.accept("PROPERTIES"):
			c.Properties = p.properties()
			return c
		case p.accept("DEFAULT"), p.sees("CHARACTER"), p.sees("CHARSET"), p.sees("COLLATE"):
			p.charsetOption()
		default:
			return c
		}
	}
}

// charsetOption skips [CHARACTER SET | CHARSET | COLLATE] [=] name: all text
// is UTF-8.
func (p *parser) charsetOption() {
	if p.accept("CHARACTER") {
		p.expect("SET")
	} else {
		p.expectOne("CHARSET", "COLLATE")
	}
	p.acceptSymbol("=")
	if p.peek().Kind == EndOfText {
		p.fail("expected a character set")
	}
	p.take()
}

func (p *parser) drop() ast.Stmt {
	p.take()
	switch {
	case p.sees("DATABASE"), p.sees("SCHEMA"):
		p.take()
		d := &ast.DropDatabase{IfExists: p.accept("IF", "EXISTS"), Name: p.name("a database name")}
		p.accept("FORCE")
		return d
	case p.accept("TABLE"):
		d := &ast.DropTable{IfExists: p.accept("IF", "EXISTS"), Table: p.table()}
		d.Force = p.accept("FORCE")
		p.acceptOne("CASCADE", "RESTRICT")
		return d
	case p.accept("FILE"):
		return p.dropFile()
	}
	return p.unsupportedAfter("DROP")
}

func (p *parser) use() ast.Stmt {
	p.take()
	n := p.qualified("a database name")
	if strings.HasPrefix(n.Name, "@") || p.peek().isSymbol("@") {
		p.fail("expected a database name without a cluster,")
	}
	return &ast.Use{Catalog: n.DB, Name: n.Name}
}

func (p *parser) kill() ast.Stmt {
	p.take()
	k := &ast.Kill{Query: p.accept("QUERY")}
	if !k.Query {
		p.accept("CONNECTION")
	}
	id, err := strconv.ParseUint(p.peek().Value, 10, 64)
	if err != nil {
		p.fail("expected the number of a connection")
	}
	p.take()
	k.ID = id
	return k
}

// noOps are statements with nothing to do, by their first words.
var noOps = [][]string{
	{"START", "TRANSACTION"}, {"BEGIN"}, {"COMMIT"}, {"ROLLBACK"}, {"SAVEPOINT"}, {"RELEASE", "SAVEPOINT"},
	{"LOCK", "TABLES"}, {"LOCK", "TABLE"}, {"UNLOCK", "TABLES"}, {"UNLOCK", "TABLE"}, {"FLUSH"},
}

func (p *parser) noOp() ast.Stmt {
	for _, words := range noOps {
		if p.accept(words...) {
			p.next = len(p.tokens) - 1
			return &ast.NoOp{What: strings.Join(words, " ")}
		}
	}
	return nil
}
