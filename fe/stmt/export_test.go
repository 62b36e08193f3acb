package stmt

// HasPlace tells whether the statements of a kind, named as in sql/ast, have a
// place.
func HasPlace(name string) bool {
	for kind := range places {
		if kind.Elem().Name() == name {
			return true
		}
	}
	return false
}
