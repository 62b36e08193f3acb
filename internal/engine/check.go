package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"shoal/sql/duckdb"
)

// check has DuckDB parse the query and refuses what is not one SELECT over
// the request's tables. It returns which columns of the result are columns of
// tables as they are.
func (in *instance) check(ctx context.Context, req Request) (plainColumns, error) {
	var none plainColumns
	tree, err := in.serialize(ctx, req.SQL)
	if err != nil {
		return none, err
	}
	statements, _ := tree["statements"].([]any)
	if len(statements) != 1 {
		return none, refuse("one SELECT statement is expected")
	}
	statement, _ := statements[0].(map[string]any)
	if params, _ := statement["named_param_map"].([]any); len(params) > 0 {
		return none, refuse("a parameter has no value")
	}
	c := checker{tables: map[string]bool{}}
	for _, t := range req.Tables {
		key := tableKey(duckdb.SchemaName(t.DB), t.Name)
		if c.tables[key] {
			return none, refuse("a query over two tables whose names differ only in case, such as %s.%s, is not supported", t.DB, t.Name)
		}
		c.tables[key] = true
	}
	if err := c.visit(statement["node"], nil); err != nil {
		return none, err
	}
	node, _ := statement["node"].(map[string]any)
	return findPlainColumns(node, req.Tables), nil
}

// serialize returns DuckDB's parse tree of a text.
func (in *instance) serialize(ctx context.Context, text string) (map[string]any, error) {
	result, err := in.query(ctx, "SELECT CAST(json_serialize_sql("+duckdb.QuoteString(text)+") AS VARCHAR)")
	if err != nil {
		return nil, err
	}
	defer result.Close()
	if _, err := result.Next(); err != nil {
		return nil, classify(ctx, err)
	}
	serialized := result.Vector(0).Bytes(0)
	decoder := json.NewDecoder(bytes.NewReader(serialized))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("reading DuckDB's parse tree: %w", err)
	}
	if failed, _ := tree["error"].(bool); failed {
		return nil, parseError(tree)
	}
	return tree, nil
}

func parseError(tree map[string]any) error {
	msg, _ := tree["error_message"].(string)
	if tree["error_type"] != "parser" {
		return refuse("only SELECT is supported here")
	}
	position, _ := tree["position"].(string)
	pos, _ := strconv.Atoi(position)
	return &Error{Kind: Syntax, Msg: firstLine(msg), Pos: pos}
}

func refuse(format string, args ...any) error {
	return &Error{Kind: Refused, Msg: fmt.Sprintf(format, args...)}
}

// checker walks a parse tree. It knows the few nodes that reach outside the
// expression they are in; of those that it could not know, table references
// and query nodes, it refuses whatever is not on its list.
type checker struct{ tables map[string]bool }

// ctes are the names of WITH in scope, innermost last.
type ctes []string

func (s ctes) has(name string) bool {
	for _, n := range s {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

func (c *checker) visit(value any, scope ctes) error {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			if err := c.visit(element, scope); err != nil {
				return err
			}
		}
	case map[string]any:
		return c.visitNode(v, scope)
	}
	return nil
}

var (
	queryNodes = wordSet("SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE CTE_NODE")
	tableRefs  = wordSet("BASE_TABLE SUBQUERY JOIN TABLE_FUNCTION EMPTY EXPRESSION_LIST")
	// tableFunctions make rows from their arguments alone.
	tableFunctions = wordSet("unnest range generate_series generate_subscripts json_each json_tree")
)

func (c *checker) visitNode(node map[string]any, scope ctes) error {
	kind, _ := node["type"].(string)
	if strings.HasSuffix(kind, "_NODE") && !queryNodes[kind] {
		return refuse("%s is not supported", kind)
	}
	_, sampled := node["sample"]
	if _, aliased := node["alias"]; aliased && sampled && !tableRefs[kind] {
		return refuse("a table of the form %s is not supported", kind)
	}
	switch kind {
	case "BASE_TABLE":
		if err := c.baseTable(node, scope); err != nil {
			return err
		}
	case "TABLE_FUNCTION":
		return c.tableFunction(node, scope)
	}
	if name, ok := node["function_name"].(string); ok {
		if err := checkFunction(name); err != nil {
			return err
		}
	}
	return c.visitChildren(node, kind, scope)
}

// visitChildren descends with the names of WITH where they are visible: a CTE
// in those after it and in the body, and in itself only right of a recursive
// UNION. Elsewhere its name would mean one of DuckDB's own views.
func (c *checker) visitChildren(node map[string]any, kind string, scope ctes) error {
	outer := scope
	if ctesHere, ok := node["cte_map"].(map[string]any); ok {
		entries, _ := ctesHere["map"].([]any)
		for _, e := range entries {
			entry, _ := e.(map[string]any)
			if err := c.visit(entry["value"], scope); err != nil {
				return err
			}
			name, _ := entry["key"].(string)
			scope = append(scope[:len(scope):len(scope)], name)
		}
	}
	for key, child := range node {
		in := scope
		switch {
		case key == "cte_map":
			continue
		case kind == "RECURSIVE_CTE_NODE" && key == "right":
			name, _ := node["cte_name"].(string)
			in = append(scope[:len(scope):len(scope)], name)
		case kind == "CTE_NODE" && key == "query":
			in = outer
		case kind == "CTE_NODE" && key == "child":
			name, _ := node["cte_name"].(string)
			in = append(scope[:len(scope):len(scope)], name)
		}
		if err := c.visit(child, in); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) baseTable(node map[string]any, scope ctes) error {
	catalog, _ := node["catalog_name"].(string)
	schema, _ := node["schema_name"].(string)
	name, _ := node["table_name"].(string)
	known := schema != "" && c.tables[tableKey(schema, name)] || schema == "" && scope.has(name)
	if catalog != "" || !known {
		if db, ok := strings.CutPrefix(schema, duckdb.SchemaName("")); ok {
			name = db + "." + name
		}
		return &Error{Kind: UnknownTable, Msg: fmt.Sprintf("Table '%s' doesn't exist", name)}
	}
	return nil
}

func tableKey(schema, table string) string {
	return strings.ToLower(schema) + "\x00" + strings.ToLower(table)
}

func (c *checker) tableFunction(node map[string]any, scope ctes) error {
	function, _ := node["function"].(map[string]any)
	name, _ := function["function_name"].(string)
	if !tableFunctions[strings.ToLower(name)] {
		return refuse("table function %s is not supported", name)
	}
	return c.visitChildren(function, "", scope)
}

// outsiders are functions that tell or change something outside the query's
// rows: settings, other sessions, files, the parser, the log.
var outsiders = wordSet(`
	getenv current_setting set_config getvariable setvariable current_query current_query_id
	current_connection_id current_transaction_id txid_current nextval currval query query_table glob which_secret
	json_execute_serialized_sql json_serialize_sql json_serialize_plan json_deserialize_sql
	current_catalog current_database current_schema current_schemas in_search_path current_role current_user session_user user
	get_block_size vector_type create_sort_key parse_duckdb_log_message sql_auto_complete sniff_csv
	pg_sleep version remap_struct col_description obj_description shobj_description get_type
	st_setcrs st_crs user_agent platform`)

// outsiderPrefixes are the families of such functions.
var outsiderPrefixes = []string{"duckdb_", "pragma_", "pg_", "has_", "inet_", "read_", "write_", "parquet_", "sqlite_", "icu_calendar", "http_", "copy_", "variant_"}

// recursive are functions that call themselves for each level of a value, until
// the stack and with it the process ends. The rewriter guards those that MySQL
// has.
var recursive = wordSet("json_structure json_group_structure json_pretty json_transform json_transform_strict from_json from_json_strict")

func checkFunction(name string) error {
	lower := strings.ToLower(name)
	refused := outsiders[lower] || recursive[lower]
	for _, prefix := range outsiderPrefixes {
		refused = refused || strings.HasPrefix(lower, prefix)
	}
	if refused && lower != "has_any" && lower != "has_all" {
		return refuse("function %s is not supported", name)
	}
	return nil
}

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}
