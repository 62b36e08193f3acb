package rewrite

import (
	"fmt"
	"strconv"
	"strings"

	"shoal/sql/ast"
	"shoal/sql/parse"
)

// MaxRecords bounds how many records of a topic one query reads.
const MaxRecords = 1000

// TopicTable is the name that stands for kafka(…). No database can have it.
var TopicTable = ast.Name{DB: "\x1fkafka", Name: "kafka"}

// Topic is kafka("key" = "value", …) in the FROM of a query: records of a topic,
// as a table.
type Topic struct {
	Properties ast.Properties
	// Records is how many to read at most: the query's LIMIT if there is nothing
	// else behind kafka(…), and otherwise MaxRecords, which the rest of the query
	// then chooses from.
	Records int
}

// TakeTopic takes kafka(…) out of a query, which then reads TopicTable instead.
// Columns called key, partition and offset need no backquotes in such a query.
// A query without kafka(…) has no topic and is returned as it is. The error is
// a *parse.SyntaxError or an *Unsupported, which do not quote the properties.
func TakeTopic(text string) (rest string, topic *Topic, err error) {
	tokens, err := parse.Lex(text)
	if err != nil {
		return "", nil, err
	}
	start := topicStart(tokens, 0)
	if start < 0 {
		return text, nil, nil
	}
	t := &Topic{}
	end, err := t.readProperties(tokens, start+2)
	if err != nil {
		return "", nil, err
	}
	if topicStart(tokens, end) >= 0 {
		return "", nil, &Unsupported{What: "more than one kafka(…) in a query"}
	}
	limit, err := topLimit(tokens)
	if err != nil {
		return "", nil, err
	}
	if t.Records = MaxRecords; isPlainLimit(tokens[end:]) {
		t.Records = limit
	}
	var b strings.Builder
	done := 0
	put := func(from, to int, replacement string) {
		b.WriteString(text[done:from] + replacement)
		done = to
	}
	for i := 0; i < len(tokens); i++ {
		switch {
		case i == start:
			put(tokens[start].Pos, tokens[end-1].End, TopicTable.String())
			i = end - 1
		case isTopicColumn(tokens, i):
			put(tokens[i].Pos, tokens[i].End, ast.QuoteName(tokens[i].Value))
		}
	}
	return b.String() + text[done:], t, nil
}

// topicStart returns the index of the next kafka that is called with
// properties, -1 if there is none.
func topicStart(tokens []parse.Token, from int) int {
	for i := from; i+2 < len(tokens); i++ {
		called := isWord(tokens[i], "KAFKA") && isSymbol(tokens[i+1], "(") && i > 0 && (isWord(tokens[i-1], "FROM", "JOIN") || isSymbol(tokens[i-1], ","))
		if called && (tokens[i+2].Kind == parse.String || isSymbol(tokens[i+2], ")")) {
			return i
		}
	}
	return -1
}

// readProperties reads "key" = "value", …) and returns the index behind it.
func (t *Topic) readProperties(tokens []parse.Token, i int) (end int, err error) {
	malformed := &Unsupported{What: `kafka(…) of another form than kafka("key" = "value", …)`}
	for {
		if i+3 >= len(tokens) || tokens[i].Kind != parse.String || !isSymbol(tokens[i+1], "=") || tokens[i+2].Kind != parse.String {
			return 0, malformed
		}
		key := tokens[i].Value
		for _, p := range t.Properties {
			if strings.EqualFold(p.Key, key) {
				return 0, &Unsupported{What: fmt.Sprintf("property %q twice in kafka(…)", key)}
			}
		}
		t.Properties = append(t.Properties, ast.Property{Key: key, Value: tokens[i+2].Value})
		switch i += 3; {
		case isSymbol(tokens[i], ")"):
			return i + 1, nil
		case !isSymbol(tokens[i], ","):
			return 0, malformed
		}
		i++
	}
}

// topLimit returns the rows that the query's own LIMIT asks for, those that it
// skips included. There must be one: a topic may have no end.
func topLimit(tokens []parse.Token) (int, error) {
	depth := 0
	for i, t := range tokens {
		switch {
		case isSymbol(t, "("):
			depth++
		case isSymbol(t, ")"):
			depth--
		case depth == 0 && isWord(t, "LIMIT"):
			n := limitOf(tokens[i+1:])
			if n < 0 || n > MaxRecords {
				return 0, &Unsupported{What: fmt.Sprintf("LIMIT of a query of kafka(…) that is no number up to %d", MaxRecords)}
			}
			return n, nil
		}
	}
	return 0, &Unsupported{What: fmt.Sprintf("a query of kafka(…) without LIMIT (up to %d)", MaxRecords)}
}

// limitOf sums the one or two numbers of LIMIT; -1 if they are none.
func limitOf(tokens []parse.Token) int {
	first, err := strconv.Atoi(tokens[0].Value)
	if err != nil || first > MaxRecords {
		return -1
	}
	if !isSymbol(tokens[1], ",") && !isWord(tokens[1], "OFFSET") {
		return first
	}
	second, err := strconv.Atoi(tokens[2].Value)
	if err != nil || second > MaxRecords {
		return -1
	}
	return first + second
}

// isPlainLimit reports whether nothing but LIMIT comes, perhaps after an alias.
func isPlainLimit(tokens []parse.Token) bool {
	if isWord(tokens[0], "AS") {
		tokens = tokens[1:]
	}
	if isName(tokens[0]) && !isWord(tokens[0], "LIMIT", "WHERE", "GROUP", "ORDER", "HAVING", "JOIN", "UNION") {
		tokens = tokens[1:]
	}
	return len(tokens) > 0 && isWord(tokens[0], "LIMIT")
}

// isTopicColumn reports whether a word is a column that would be read as a
// keyword without quotes.
func isTopicColumn(tokens []parse.Token, i int) bool {
	if !isWord(tokens[i], "KEY", "PARTITION", "OFFSET") || i+1 == len(tokens) {
		return false
	}
	next := tokens[i+1]
	return next.Kind != parse.Number && next.Kind != parse.String && !isSymbol(next, "(") && !isWord(next, "BY")
}
