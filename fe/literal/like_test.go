package literal_test

import (
	"strings"
	"testing"

	"shoal/fe/literal"
)

func TestLike(t *testing.T) {
	tests := []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"", "a", false},
		{"%", "", true},
		{"lower_case%", "lower_case_table_names", true},
		{"LOWER%NAMES", "lower_case_table_names", true},
		{"a_c", "abc", true},
		{"a_c", "aéc", true},
		{"a_c", "ac", false},
		{`a\_c`, "abc", false},
		{`a\_c`, "a_c", true},
		{`50\%`, "50%", true},
		{`50\%`, "500", false},
		{"%b%b", "abab", true},
		{"%b%c", "abab", false},
		{"a%", "b", false},
		{`a\`, `a\`, true},
	}
	for _, tt := range tests {
		if got := literal.Like(tt.pattern, tt.s); got != tt.want {
			t.Errorf("Like(%q, %q) = %v", tt.pattern, tt.s, got)
		}
	}
	if literal.Like(strings.Repeat("%a", 500)+"b", strings.Repeat("a", 5000)) {
		t.Error("a pattern without match matched")
	}
}
