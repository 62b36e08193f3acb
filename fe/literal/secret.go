package literal

import "strings"

// secretWords are in the keys of properties whose values must not be shown.
var secretWords = []string{"password", "secret", "jaas", "token", "passphrase", "ssl.key", "keystore.key", "access_key", "credential"}

// fileContent is the key of what CREATE FILE keeps, which may be a private key.
// As the word of a column it hides nothing.
const fileContent = "content"

func isSecretKey(s string) bool {
	s = strings.ToLower(s)
	for _, word := range secretWords {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

// mask is what stands where a secret was.
const mask = "'***'"

// HideSecrets returns a statement's text as others may see it: with *** for
// the value of every property whose key tells of a secret, and for what
// follows PASSWORD or IDENTIFIED. It reads any text, also one that is no
// statement, and rather hides too much than too little.
func HideSecrets(sql string) string {
	lower := strings.ToLower(sql)
	if !isSecretKey(lower) && !strings.Contains(lower, "identified") && !strings.Contains(lower, fileContent) {
		return sql
	}
	var b strings.Builder
	hide := showAll
	for s := (scanner{sql: sql}); s.next(); {
		token := sql[s.start:s.end]
		b.WriteString(hide.shown(s.kind, token))
		hide = hide.after(s.kind, token)
	}
	return b.String()
}

// hiding is what is to be hidden of the tokens to come, up to the end of a
// property or clause.
type hiding uint8

const (
	showAll     hiding = iota
	hideStrings        // after a word such as PASSWORD
	hideValue          // after a property's key: its value may lack quotes
)

func (h hiding) shown(kind tokenKind, token string) string {
	switch {
	case kind == blank && len(token) > 1 && isSecretKey(token):
		return "/* *** */"
	case kind == quoted && h != showAll, kind == word && h == hideValue:
		return mask
	}
	return token
}

func (h hiding) after(kind tokenKind, token string) hiding {
	switch {
	case kind == symbol && strings.Contains(",;()", token) && !(token == "(" && h == hideStrings):
		return showAll
	case h != showAll:
		return h
	case kind == quoted && (isSecretKey(token) || strings.EqualFold(strings.Trim(token, `'"`), fileContent)):
		return hideValue
	case kind == word && (isSecretKey(token) || strings.EqualFold(token, "IDENTIFIED")):
		return hideStrings
	}
	return h
}
