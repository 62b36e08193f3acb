package session

import (
	"strings"

	"shoal/fe/errno"
	"shoal/fe/literal"
)

// charsets are the character sets a client may name, each with its default
// collation. Whatever it names, text is UTF-8 both ways; the others are ones
// that agree with it on ASCII and that shells name for want of a locale.
var charsets = map[string]string{
	"utf8mb4": "utf8mb4_general_ci",
	"utf8mb3": "utf8_general_ci",
	"utf8":    "utf8_general_ci",
	"ascii":   "ascii_general_ci",
	"latin1":  "latin1_swedish_ci",
	"gbk":     "gbk_chinese_ci",
	"binary":  "binary",
}

// SetNames is SET NAMES charset [COLLATE collation]: an empty collation is the
// character set's own, an empty charset is DEFAULT.
func (s *Session) SetNames(charset, collation string) error {
	if charset == "" {
		charset = s.globals.get("character_set_client").Text()
	}
	name, err := checkedCharset(literal.String(charset))
	if err != nil {
		return err
	}
	if collation == "" {
		collation = charsets[name.Text()]
	}
	coll, err := checkedCollation(literal.String(collation))
	if err != nil {
		return err
	}
	if of := charsetOf(coll.Text()); of != name.Text() && !(of == "utf8" && name.Text() == "utf8mb3") {
		return errno.New(errno.CollationMismatch, "COLLATION '%s' is not valid for CHARACTER SET '%s'", coll.Text(), name.Text())
	}
	s.values["character_set_client"] = name
	s.values["character_set_results"] = name
	s.values["character_set_connection"] = name
	s.values["collation_connection"] = coll
	return nil
}

// SetCharacterSet is SET CHARACTER SET charset; empty is DEFAULT. Unlike
// SET NAMES it puts the connection's to the database's.
func (s *Session) SetCharacterSet(charset string) error {
	if err := s.SetNames(charset, ""); err != nil {
		return err
	}
	s.values["character_set_connection"] = s.values["character_set_database"]
	s.values["collation_connection"] = s.values["collation_database"]
	return nil
}

func checkedCharset(value literal.Value) (literal.Value, error) {
	name := strings.ToLower(value.Text())
	if _, ok := charsets[name]; !ok {
		return value, errno.New(errno.UnknownCharset, "Unknown character set: '%.64s'", value.Text())
	}
	return literal.String(name), nil
}

func checkedCollation(value literal.Value) (literal.Value, error) {
	name := strings.ToLower(value.Text())
	if _, ok := charsets[charsetOf(name)]; !ok {
		return value, errno.New(errno.UnknownCollation, "Unknown collation: '%.64s'", value.Text())
	}
	return literal.String(name), nil
}

// charsetOf is the character set a collation belongs to: its first word.
func charsetOf(collation string) string {
	charset, _, _ := strings.Cut(collation, "_")
	return charset
}
