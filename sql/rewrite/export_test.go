package rewrite

import (
	"maps"
	"slices"
)

// FunctionNames returns the functions that are rewritten.
func FunctionNames() []string {
	return append(slices.Sorted(maps.Keys(specials)), slices.Sorted(maps.Keys(known))...)
}
