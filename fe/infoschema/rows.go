package infoschema

import (
	"strconv"

	"shoal/sql/types"
)

// The collation that everything has.
const (
	charset   = "utf8mb4"
	collation = "utf8mb4_general_ci"
)

func str(s string) Cell { return &s }

func num(n int64) Cell {
	s := strconv.FormatInt(n, 10)
	return &s
}

// orNull is NULL for the empty string.
func orNull(s string) Cell {
	if s == "" {
		return nil
	}
	return &s
}

func schemata(c *Catalog) [][]Cell {
	rows := [][]Cell{{str("def"), str(Schema), str(charset), str(collation), nil}}
	for _, db := range c.Databases {
		rows = append(rows, []Cell{str("def"), str(db.Name), str(charset), str(collation), nil})
	}
	return rows
}

func tableRows(c *Catalog) [][]Cell {
	var rows [][]Cell
	for _, name := range Names() {
		rows = append(rows, []Cell{str("def"), str(Schema), str(name), str("SYSTEM VIEW"), nil, nil, nil, nil, nil,
			nil, nil, nil, nil, nil, nil, nil, nil, str(collation), nil, str(""), str("")})
	}
	for _, db := range c.Databases {
		for _, t := range db.Tables {
			rows = append(rows, tableRow(db.Name, t))
		}
	}
	return rows
}

func tableRow(db string, t TableInfo) []Cell {
	var average int64
	if t.Rows > 0 {
		average = t.Bytes / t.Rows
	}
	return []Cell{str("def"), str(db), str(t.Name), str("BASE TABLE"), str("Doris"), nil, nil, num(t.Rows), num(average),
		num(t.Bytes), nil, nil, nil, nil, orNull(t.Created), orNull(t.Updated), nil, str(collation), nil, str(""), str(t.Comment)}
}

func columnRows(c *Catalog) [][]Cell {
	var rows [][]Cell
	for _, name := range Names() {
		for i, col := range tables[name].Columns {
			rows = append(rows, columnRow(Schema, name, i, ColumnInfo{Name: col.Name, Type: col.Type, Nullable: true}))
		}
	}
	for _, db := range c.Databases {
		for _, t := range db.Tables {
			for i, col := range t.Columns {
				rows = append(rows, columnRow(db.Name, t.Name, i, col))
			}
		}
	}
	return rows
}

func columnRow(db, table string, index int, c ColumnInfo) []Cell {
	var chars, octets, precision, scale, fraction, set, coll Cell
	switch c.Type.Kind {
	case types.Char, types.VarChar:
		chars, octets = num(int64(c.Type.Length)), num(int64(c.Type.Length))
		set, coll = str(charset), str(collation)
	case types.String, types.JSON, types.Variant:
		set, coll = str(charset), str(collation)
	case types.Decimal:
		precision, scale = num(int64(c.Type.Precision)), num(int64(c.Type.Scale))
	case types.DateTime:
		fraction = num(int64(c.Type.Scale))
	default:
		if digits, ok := digits[c.Type.Kind]; ok {
			precision, scale = num(digits), num(0)
		}
	}
	nullable, key := "NO", ""
	if c.Nullable {
		nullable = "YES"
	}
	if c.Key {
		key = "DUP"
	}
	return []Cell{str("def"), str(db), str(table), str(c.Name), num(int64(index + 1)), c.Default, str(nullable), str(c.Type.DataType()),
		chars, octets, precision, scale, fraction, set, coll, str(c.Type.ColumnType()), str(key), str(""),
		str("select,insert,update,references"), str(c.Comment), str("")}
}

// digits is NUMERIC_PRECISION of the integer types, as MySQL has it.
var digits = map[types.Kind]int64{
	types.Boolean: 3, types.TinyInt: 3, types.SmallInt: 5, types.Int: 10, types.BigInt: 19, types.LargeInt: 38,
	types.Float: 12, types.Double: 22,
}

func charsetRows(*Catalog) [][]Cell {
	return [][]Cell{{str(charset), str(collation), str("UTF-8 Unicode"), num(4)}}
}

// Collations is what SHOW COLLATION and COLLATIONS list: the ones that clients
// ask for by number, with their character sets and numbers.
var Collations = []struct {
	Name, Charset string
	ID            int64
	Default       bool
}{
	{"utf8_general_ci", "utf8", 33, true},
	{"utf8mb4_general_ci", charset, 45, true},
	{"utf8mb4_bin", charset, 46, false},
	{"binary", "binary", 63, true},
	{"utf8mb4_unicode_ci", charset, 224, false},
	{"utf8mb4_0900_ai_ci", charset, 255, false},
}

func collationRows(*Catalog) [][]Cell {
	var rows [][]Cell
	for _, c := range Collations {
		isDefault := ""
		if c.Default {
			isDefault = "Yes"
		}
		rows = append(rows, []Cell{str(c.Name), str(c.Charset), num(c.ID), str(isDefault), str("Yes"), num(1)})
	}
	return rows
}

func engineRows(*Catalog) [][]Cell {
	return [][]Cell{{str("Doris"), str("DEFAULT"), str("Rowsets in Parquet files"), str("NO"), str("NO"), str("NO")}}
}

// keywordRows are the reserved words that clients quote names for.
func keywordRows(*Catalog) [][]Cell {
	var rows [][]Cell
	for _, word := range []string{"ALL", "ALTER", "AND", "AS", "BETWEEN", "BY", "CASE", "CREATE", "CROSS", "DATABASE", "DEFAULT", "DELETE",
		"DESC", "DISTINCT", "DROP", "ELSE", "EXISTS", "EXPLAIN", "FALSE", "FOR", "FROM", "FULL", "GROUP", "HAVING", "IF", "IN", "INNER",
		"INSERT", "INTERVAL", "INTO", "IS", "JOIN", "KEY", "KEYS", "LEFT", "LIKE", "LIMIT", "LOAD", "NOT", "NULL", "ON", "OR", "ORDER",
		"OUTER", "PRIMARY", "RIGHT", "SELECT", "SET", "SHOW", "TABLE", "THEN", "TO", "TRUE", "UNION", "UPDATE", "USE", "USING", "VALUES",
		"WHEN", "WHERE", "WITH"} {
		rows = append(rows, []Cell{str(word), num(1)})
	}
	return rows
}

func processRows(c *Catalog) [][]Cell {
	var rows [][]Cell
	for _, p := range c.Processes {
		rows = append(rows, []Cell{num(p.ID), str(p.User), str(p.Host), orNull(p.DB), str(p.Command), num(p.Seconds), str(""), orNull(p.Info)})
	}
	return rows
}

func variableRows(variables []Variable) [][]Cell {
	var rows [][]Cell
	for _, v := range variables {
		rows = append(rows, []Cell{str(v.Name), str(v.Value)})
	}
	return rows
}
