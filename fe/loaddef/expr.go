package loaddef

import typesv1 "shoal/proto/types/v1"

// scope is the names that an expression may use.
type scope []string

func sourceScope(fields []string) scope { return fields }

func tableScope(schema *typesv1.Schema) scope { return columnNames(schema) }

func withDerived(s scope, name string) scope { return append(s[:len(s):len(s)], name) }

func checkExpression(where, text string, s scope) error { return nil }
