// Package nearest finds the name that a misspelt one was meant to be, for the
// hint in an error.
//
// It is pure and safe for concurrent use.
package nearest

import "strings"

// Of is the candidate within a few typing errors of name, in any case; empty if
// there is none. Of equally near ones the first is taken.
func Of(name string, candidates []string) string {
	best, limit := "", max(2, len(name)/4)+1
	for _, candidate := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < limit && d < len(candidate) {
			best, limit = candidate, d
		}
	}
	return best
}

// Hint is a clause to end an error with: empty, or ", did you mean 'x'?" of the
// nearest candidate.
func Hint(name string, candidates []string) string {
	if near := Of(name, candidates); near != "" {
		return ", did you mean '" + near + "'?"
	}
	return ""
}

// distance is Levenshtein's: the insertions, deletions and replacements that
// make a into b. Swapped neighbours count as two.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j := range to {
			replaced := diagonal
			if from[i] != to[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(to)]
}
