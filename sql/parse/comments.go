package parse

import "strings"

// reportedVersion is the MySQL version, as in executable comments, up to
// which their inside is part of the statement: the version that Doris, and so
// Shoal, reports to clients.
const reportedVersion = 50799

// unwrap returns the text with executable comments, /*! … */ and /*!50700 … */,
// opened: their markers, or all of those that are for a newer server, become
// blanks. Every other byte keeps its position, so errors point into the
// user's own text.
func unwrap(text string) (string, *SyntaxError) {
	if !strings.Contains(text, "/*!") {
		return text, nil
	}
	out := []byte(text)
	open := -1 // where the executable comment that we are in starts
	for pos := 0; pos < len(text); {
		rest := text[pos:]
		switch {
		case rest[0] == '\'' || rest[0] == '"' || rest[0] == '`':
			end := quotedEnd(text, pos)
			if end < 0 {
				return "", NewSyntaxError(text, pos, "this string or name has no end,")
			}
			pos = end
		case isLineComment(rest):
			pos += lineLength(rest)
		case open >= 0 && strings.HasPrefix(rest, "*/"):
			blank(out, pos, pos+2)
			open, pos = -1, pos+2
		case strings.HasPrefix(rest, "/*!"):
			marker, runs := readMarker(rest)
			if runs {
				blank(out, pos, pos+marker)
				open, pos = pos, pos+marker
				continue
			}
			end := strings.Index(rest, "*/")
			if end < 0 {
				return "", NewSyntaxError(text, pos, "this comment has no end,")
			}
			blank(out, pos, pos+end+2)
			pos += end + 2
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return "", NewSyntaxError(text, pos, "this comment has no end,")
			}
			pos += end + 4
		default:
			pos++
		}
	}
	if open >= 0 {
		return "", NewSyntaxError(text, open, "this comment has no end,")
	}
	return string(out), nil
}

// readMarker returns the length of the marker /*! with its version, and
// whether the inside is for this server.
func readMarker(rest string) (length int, runs bool) {
	version := 0
	length = len("/*!")
	for length < len(rest) && length < len("/*!123456") && isDigit(rest[length]) {
		version = version*10 + int(rest[length]-'0')
		length++
	}
	return length, version <= reportedVersion
}

// blank overwrites a range with spaces, keeping line ends for line numbers.
func blank(text []byte, from, to int) {
	for i := from; i < to; i++ {
		if text[i] != '\n' {
			text[i] = ' '
		}
	}
}
