package rewrite

import (
	"fmt"
	"strings"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"

	"shoal/sql/ast"
	"shoal/sql/duckdb"
)

// query prints a statement that answers rows.
func (p *printer) query(node tidb.Node) string {
	defer p.enter()()
	switch n := node.(type) {
	case *tidb.SelectStmt:
		return p.selectStmt(n)
	case *tidb.SetOprStmt:
		return p.setOperation(n.With, n.SelectList.Selects, n.OrderBy, n.Limit)
	case *tidb.SetOprSelectList:
		return p.setOperation(n.With, n.Selects, n.OrderBy, n.Limit)
	case *tidb.SubqueryExpr:
		return p.query(n.Query)
	}
	unsupported("this statement")
	return ""
}

func (p *printer) setOperation(with *tidb.WithClause, selects []tidb.Node, order *tidb.OrderByClause, limit *tidb.Limit) string {
	scope := len(p.ctes)
	defer func() { p.ctes = p.ctes[:scope] }()
	var b strings.Builder
	b.WriteString(p.with(with))
	for i, s := range selects {
		var operator *tidb.SetOprType
		switch s := s.(type) {
		case *tidb.SelectStmt:
			operator = s.AfterSetOperator
		case *tidb.SetOprSelectList:
			operator = s.AfterSetOperator
		}
		if i > 0 && operator != nil {
			b.WriteString(" " + operator.String() + " ")
		}
		b.WriteString("(" + p.query(s) + ")")
	}
	return b.String() + p.orderBy(order) + p.limit(limit)
}

func (p *printer) with(with *tidb.WithClause) string {
	if with == nil {
		return ""
	}
	ctes := make([]string, len(with.CTEs))
	for i, c := range with.CTEs {
		if with.IsRecursive {
			p.ctes = append(p.ctes, c.Name.L)
		}
		name := duckdb.QuoteName(c.Name.O)
		if len(c.ColNameList) > 0 {
			columns := make([]string, len(c.ColNameList))
			for j, column := range c.ColNameList {
				columns[j] = duckdb.QuoteName(column.O)
			}
			name += " (" + strings.Join(columns, ", ") + ")"
		}
		ctes[i] = name + " AS (" + p.query(c.Query) + ")"
		if !with.IsRecursive {
			p.ctes = append(p.ctes, c.Name.L)
		}
	}
	keyword := "WITH "
	if with.IsRecursive {
		keyword = "WITH RECURSIVE "
	}
	return keyword + strings.Join(ctes, ", ") + " "
}

func (p *printer) selectStmt(n *tidb.SelectStmt) string {
	if n.SelectIntoOpt != nil {
		unsupported("SELECT … INTO")
	}
	scope := len(p.ctes)
	defer func() { p.ctes = p.ctes[:scope] }()
	with := p.with(n.With)
	if n.Kind == tidb.SelectStmtKindValues {
		return with + p.values(n.Lists) + p.orderBy(n.OrderBy) + p.limit(n.Limit)
	}
	var b strings.Builder
	b.WriteString(with + "SELECT ")
	if n.Distinct {
		b.WriteString("DISTINCT ")
	}
	b.WriteString(p.fields(n.Fields))
	if n.From != nil {
		b.WriteString(" FROM " + p.from(n.From.TableRefs))
	}
	where, having := p.conditions(n)
	if where != "" {
		b.WriteString(" WHERE " + where)
	}
	b.WriteString(p.groupBy(n.GroupBy))
	if having != "" {
		b.WriteString(" HAVING " + having)
	}
	b.WriteString(p.windows(n.WindowSpecs))
	return b.String() + p.orderBy(n.OrderBy) + p.limit(n.Limit)
}

// conditions returns the WHERE and HAVING of a query. Without groups and
// aggregates MySQL takes HAVING as a second WHERE that sees aliases; DuckDB's
// WHERE sees them too.
func (p *printer) conditions(n *tidb.SelectStmt) (where, having string) {
	if n.Where != nil {
		where = p.expr(n.Where)
	}
	if n.Having == nil {
		return where, ""
	}
	having = p.expr(n.Having.Expr)
	if n.GroupBy != nil || aggregates(n) {
		return where, having
	}
	if where == "" {
		return having, ""
	}
	return "(" + where + ") AND (" + having + ")", ""
}

// aggregates reports whether a query has aggregate functions of its own.
func aggregates(n *tidb.SelectStmt) bool {
	finder := &aggregateFinder{}
	n.Having.Expr.Accept(finder)
	for _, f := range n.Fields.Fields {
		if f.Expr != nil {
			f.Expr.Accept(finder)
		}
	}
	return finder.found
}

type aggregateFinder struct{ found bool }

// Enter implements the parser's visitor; subqueries count for themselves.
func (f *aggregateFinder) Enter(n tidb.Node) (tidb.Node, bool) {
	switch n.(type) {
	case *tidb.AggregateFuncExpr:
		f.found = true
	case *tidb.SubqueryExpr:
		return n, true
	}
	return n, f.found
}

// Leave implements the parser's visitor.
func (f *aggregateFinder) Leave(n tidb.Node) (tidb.Node, bool) { return n, true }

// fields prints the select list. What has no alias is called as it is
// written, as MySQL does.
func (p *printer) fields(list *tidb.FieldList) string {
	fields := make([]string, len(list.Fields))
	for i, f := range list.Fields {
		if f.WildCard != nil {
			fields[i] = "*"
			if f.WildCard.Table.O != "" {
				fields[i] = duckdb.QuoteName(f.WildCard.Table.O) + ".*"
			}
			continue
		}
		fields[i] = p.expr(f.Expr)
		switch _, isColumn := f.Expr.(*tidb.ColumnNameExpr); {
		case f.AsName.O != "":
			fields[i] += " AS " + duckdb.QuoteName(f.AsName.O)
		case !isColumn && strings.TrimSpace(f.Text()) != "":
			fields[i] += " AS " + duckdb.QuoteName(fieldName(f))
		}
	}
	return strings.Join(fields, ", ")
}

// fieldName is the name of a field without alias: the value of a string, and
// otherwise the text.
func fieldName(f *tidb.SelectField) string {
	if text, ok := stringLiteral(f.Expr); ok && text != "" {
		return text
	}
	return strings.TrimSpace(f.Text())
}

func (p *printer) values(lists []*tidb.RowExpr) string {
	rows := make([]string, len(lists))
	for i, row := range lists {
		rows[i] = "(" + p.exprs(row.Values) + ")"
	}
	return "VALUES " + strings.Join(rows, ", ")
}

func (p *printer) from(node tidb.ResultSetNode) string {
	defer p.enter()()
	switch n := node.(type) {
	case *tidb.Join:
		return p.join(n)
	case *tidb.TableSource:
		return p.tableSource(n)
	case *tidb.TableName:
		return p.table(n)
	}
	unsupported("this form of table")
	return ""
}

func (p *printer) join(n *tidb.Join) string {
	left := p.from(n.Left)
	if n.Right == nil {
		return left
	}
	right := p.from(n.Right)
	if inner, ok := n.Right.(*tidb.Join); ok && inner.Right != nil {
		right = "(" + right + ")"
	}
	kind := " CROSS JOIN "
	switch {
	case n.Tp == tidb.LeftJoin:
		kind = " LEFT JOIN "
	case n.Tp == tidb.RightJoin:
		kind = " RIGHT JOIN "
	case n.On != nil || len(n.Using) > 0 || n.NaturalJoin:
		kind = " JOIN "
	}
	if n.NaturalJoin {
		kind = " NATURAL" + kind
	}
	condition := ""
	if n.On != nil {
		condition = " ON " + p.expr(n.On.Expr)
	}
	if len(n.Using) > 0 {
		columns := make([]string, len(n.Using))
		for i, c := range n.Using {
			columns[i] = duckdb.QuoteName(c.Name.O)
		}
		condition = " USING (" + strings.Join(columns, ", ") + ")"
	}
	return left + kind + right + condition
}

func (p *printer) tableSource(n *tidb.TableSource) string {
	var source string
	switch s := n.Source.(type) {
	case *tidb.TableName:
		source = p.table(s)
	case *tidb.Join:
		source = "(" + p.join(s) + ")"
	default:
		source = "(" + p.query(s) + ")"
	}
	if n.Lateral {
		source = "LATERAL " + source
	}
	if n.AsName.O == "" {
		return source
	}
	source += " AS " + duckdb.QuoteName(n.AsName.O)
	if len(n.ColumnNames) > 0 {
		columns := make([]string, len(n.ColumnNames))
		for i, c := range n.ColumnNames {
			columns[i] = duckdb.QuoteName(c.O)
		}
		source += "(" + strings.Join(columns, ", ") + ")"
	}
	return source
}

// table prints the name of a table and notes it, unless it is one of WITH.
func (p *printer) table(n *tidb.TableName) string {
	switch {
	case len(n.PartitionNames) > 0:
		unsupported("PARTITION in a query")
	case n.TableSample != nil:
		unsupported("TABLESAMPLE")
	case n.AsOf != nil:
		unsupported("AS OF")
	}
	if n.Schema.O == "" {
		for _, name := range p.ctes {
			if name == n.Name.L {
				return duckdb.QuoteName(n.Name.O)
			}
		}
	}
	return p.resolve(n.Schema.O, n.Name.O)
}

// resolve prints and notes a table of a database, or of the session's if none
// is named.
func (p *printer) resolve(db, table string) string {
	if db == "" {
		db = p.session.Database
	}
	if db == "" {
		panic(fault{&NoDatabase{Table: table}})
	}
	key := ast.Name{DB: db, Name: table}.String()
	if strings.EqualFold(db, "information_schema") { // its tables match in any case
		db, key = "information_schema", strings.ToLower(key)
	}
	name := ast.Name{DB: db, Name: table}
	if !p.seen[key] {
		p.seen[key] = true
		p.tables = append(p.tables, name)
	}
	return duckdb.TableName(name.DB, name.Name)
}

func (p *printer) groupBy(n *tidb.GroupByClause) string {
	if n == nil {
		return ""
	}
	items := make([]string, len(n.Items))
	for i, item := range n.Items {
		items[i] = p.expr(item.Expr)
	}
	if n.Rollup {
		return " GROUP BY ROLLUP (" + strings.Join(items, ", ") + ")"
	}
	return " GROUP BY " + strings.Join(items, ", ")
}

// orderBy prints ORDER BY with NULL as the smallest value, as in MySQL.
func (p *printer) orderBy(n *tidb.OrderByClause) string {
	if n == nil {
		return ""
	}
	return " ORDER BY " + p.byItems(n.Items)
}

func (p *printer) byItems(items []*tidb.ByItem) string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = p.expr(item.Expr) + " ASC NULLS FIRST"
		if item.Desc {
			out[i] = p.expr(item.Expr) + " DESC NULLS LAST"
		}
	}
	return strings.Join(out, ", ")
}

func (p *printer) limit(n *tidb.Limit) string {
	if n == nil {
		return ""
	}
	limit := " LIMIT " + p.expr(n.Count)
	if n.Offset != nil {
		limit += " OFFSET " + p.expr(n.Offset)
	}
	return limit
}

// selectLimit prints the session's limit for a query that has none of its own.
func (p *printer) selectLimit(node tidb.Node) string {
	var own *tidb.Limit
	switch n := node.(type) {
	case *tidb.SelectStmt:
		own = n.Limit
	case *tidb.SetOprStmt:
		own = n.Limit
	}
	if own != nil {
		return ""
	}
	return p.sessionLimit()
}

func (p *printer) sessionLimit() string {
	if p.session.SelectLimit == nil {
		return ""
	}
	return fmt.Sprintf(" LIMIT %d", *p.session.SelectLimit)
}

func (p *printer) windows(specs []tidb.WindowSpec) string {
	if len(specs) == 0 {
		return ""
	}
	out := make([]string, len(specs))
	for i := range specs {
		out[i] = duckdb.QuoteName(specs[i].Name.O) + " AS " + p.window(&specs[i])
	}
	return " WINDOW " + strings.Join(out, ", ")
}

// window prints what is in the parentheses of OVER.
func (p *printer) window(spec *tidb.WindowSpec) string {
	var parts []string
	if spec.Ref.O != "" {
		parts = append(parts, duckdb.QuoteName(spec.Ref.O))
	}
	if spec.PartitionBy != nil {
		items := make([]string, len(spec.PartitionBy.Items))
		for i, item := range spec.PartitionBy.Items {
			items[i] = p.expr(item.Expr)
		}
		parts = append(parts, "PARTITION BY "+strings.Join(items, ", "))
	}
	if spec.OrderBy != nil {
		parts = append(parts, "ORDER BY "+p.byItems(spec.OrderBy.Items))
	}
	if spec.Frame != nil {
		kind := "RANGE"
		if spec.Frame.Type == tidb.Rows {
			kind = "ROWS"
		}
		parts = append(parts, kind+" BETWEEN "+p.bound(&spec.Frame.Extent.Start)+" AND "+p.bound(&spec.Frame.Extent.End))
	}
	return "(" + strings.Join(parts, " ") + ")"
}

func (p *printer) bound(b *tidb.FrameBound) string {
	if b.Type == tidb.CurrentRow {
		return "CURRENT ROW"
	}
	side := " FOLLOWING"
	if b.Type == tidb.Preceding {
		side = " PRECEDING"
	}
	switch {
	case b.UnBounded:
		return "UNBOUNDED" + side
	case b.Unit != tidb.TimeUnitInvalid:
		return p.interval(b.Expr, b.Unit) + side
	}
	return p.expr(b.Expr) + side
}
