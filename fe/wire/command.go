package wire

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"shoal/fe/errno"
	"shoal/fe/literal"
)

// commandNames are how SHOW PROCESSLIST calls the commands.
var commandNames = map[byte]string{
	comInitDB:          "Init DB",
	comQuery:           "Query",
	comFieldList:       "Field List",
	comStatistics:      "Statistics",
	comProcessKill:     "Kill",
	comPing:            "Ping",
	comChangeUser:      "Change user",
	comStmtPrepare:     "Prepare",
	comStmtExecute:     "Execute",
	comStmtSendLong:    "Long Data",
	comStmtClose:       "Close stmt",
	comStmtReset:       "Reset stmt",
	comSetOption:       "Set option",
	comStmtFetch:       "Fetch",
	comResetConnection: "Reset Connection",
}

// command carries out one command and puts its answer into the buffer. An
// error ends the connection; what went wrong with the command itself is part
// of the answer.
func (c *conn) command(payload []byte) error {
	c.server.questions.Add(1)
	if len(payload) == 0 {
		c.fail((&decoder{failed: true}).err())
		return nil
	}
	code, body := payload[0], payload[1:]
	switch code {
	case comQuit:
		return errQuit
	case comChangeUser:
		return c.changeUser(body)
	}
	ctx, end := c.process.Begin(c.ctx, commandNames[code], c.shownInfo(code, body))
	defer end()
	if err := c.dispatch(ctx, code, body); err != nil {
		c.fail(err)
	}
	return nil
}

// shownInfo is what SHOW PROCESSLIST tells of a command.
func (c *conn) shownInfo(code byte, body []byte) string {
	switch code {
	case comQuery, comStmtPrepare:
		return string(body)
	case comStmtExecute, comStmtFetch:
		d := decoder{rest: body}
		if p := c.prepared[d.uint32()]; p != nil {
			return p.sql
		}
	}
	return ""
}

func (c *conn) dispatch(ctx context.Context, code byte, body []byte) error {
	switch code {
	case comQuery:
		return c.query(ctx, statementText(body))
	case comStmtPrepare:
		return c.prepare(ctx, statementText(body))
	case comStmtExecute:
		return c.execute(ctx, body)
	case comStmtFetch:
		return c.fetch(ctx, body)
	case comStmtReset:
		return c.resetPrepared(body)
	case comStmtSendLong:
		c.receiveLongData(body)
		return nil
	case comStmtClose:
		c.closeOne(body)
		return nil
	case comInitDB:
		return c.initDB(ctx, string(body))
	case comFieldList:
		return c.fieldList(ctx, body)
	case comPing:
		c.putOK(0, "")
		return nil
	case comStatistics:
		c.out.send([]byte(c.server.statistics()))
		return nil
	case comProcessKill:
		return c.processKill(body)
	case comSetOption:
		return c.setOption(body)
	case comResetConnection:
		c.reset()
		c.putOK(0, "")
		return nil
	}
	return errno.New(errno.UnknownCommand, "Unknown command %d", code)
}

// statementText is a statement without what MySQL cuts off at its end too.
func statementText(body []byte) string {
	return strings.TrimRight(string(body), "; \t\r\n\v\f\x00")
}

func checkStatement(sql string) error {
	if sql == "" {
		return errno.New(errno.EmptyQuery, "Query was empty")
	}
	if !utf8.ValidString(sql) {
		return errno.New(errno.InvalidCharacters, "Invalid utf8mb4 character string: the statement is not UTF-8 text")
	}
	return nil
}

func (c *conn) query(ctx context.Context, sql string) error {
	if err := checkStatement(sql); err != nil {
		return err
	}
	return c.run(ctx, sql, nil, false)
}

// run carries out a statement and writes its result as it comes.
func (c *conn) run(ctx context.Context, sql string, args []literal.Value, binary bool) error {
	result := &directResult{form: form{binary: binary}, ctx: ctx, conn: c}
	err := c.guarded(ctx, func() error { return c.server.Handler.Execute(ctx, c.session, sql, args, result) })
	if err == nil {
		result.finish()
	}
	return err
}

func (c *conn) use(ctx context.Context, db string) error {
	return c.guarded(ctx, func() error { return c.server.Handler.Use(ctx, c.session, db) })
}

func (c *conn) initDB(ctx context.Context, db string) error {
	c.session.ClearWarnings()
	if err := c.use(ctx, db); err != nil {
		return err
	}
	c.putOK(0, "")
	return nil
}

// fieldList answers shells that complete names: definitions with a default
// value behind each, which is always NULL here.
func (c *conn) fieldList(ctx context.Context, body []byte) error {
	d := decoder{rest: body}
	table, pattern := d.nulString(), string(d.rest)
	var columns []column
	err := c.guarded(ctx, func() error {
		fields, err := c.server.Handler.Fields(ctx, c.session, table)
		if err != nil {
			return err
		}
		columns, err = defineAll(fields)
		return err
	})
	if err != nil {
		return err
	}
	for _, col := range columns {
		if pattern != "" && !literal.Like(pattern, col.name) {
			continue
		}
		c.out.begin()
		c.out.buf = append(col.appendDefinition(c.out.buf), 0xfb)
		c.out.end()
	}
	c.putEnd(0)
	return nil
}

// statistics is a line for people: a bare string, two blanks between items.
func (s *Server) statistics() string {
	uptime := time.Since(s.started).Seconds()
	questions := s.questions.Load()
	return fmt.Sprintf("Uptime: %d  Threads: %d  Questions: %d  Slow queries: 0  Opens: 0  Flush tables: 0  Open tables: 0  Queries per second avg: %.3f",
		int64(uptime), s.Processes.Len(), questions, float64(questions)/max(uptime, 1))
}

func (c *conn) processKill(body []byte) error {
	d := decoder{rest: body}
	id := d.uint32()
	if err := d.err(); err != nil {
		return err
	}
	if err := c.server.Processes.Kill(id, false); err != nil {
		return err
	}
	c.putOK(0, "")
	return nil
}

// setOption takes "multiple statements off", which they always are.
func (c *conn) setOption(body []byte) error {
	d := decoder{rest: body}
	switch option := d.uint16(); {
	case d.failed:
		return d.err()
	case option == 1:
		c.putEnd(0)
		return nil
	}
	return errno.New(errno.NotSupportedYet, "This version doesn't yet support 'several statements in one query'")
}

// reset forgets what the client made, but not who it is.
func (c *conn) reset() {
	c.closePrepared()
	c.session.Reset()
}

// changeUser logs another user in on the same connection. A failure ends it.
func (c *conn) changeUser(body []byte) error {
	c.closePrepared()
	d := decoder{rest: body}
	login := loginPacket{caps: c.caps, user: d.nulString()}
	login.scramble = d.bytes(uint64(d.uint8()))
	login.db = d.nulString()
	if len(d.rest) > 0 {
		d.uint16() // collation
		if c.caps.has(capPluginAuth) {
			login.plugin = d.nulString()
		}
		if c.caps.has(capConnectAttrs) && len(d.rest) > 0 {
			login.attributes = parseAttributes(&d)
		}
	}
	err := d.err()
	if err == nil {
		err = c.enter(login)
	}
	if err != nil {
		c.putERR(err)
		return err
	}
	c.putOK(0, "")
	return nil
}
