package decode

// Keep drops the rows of b that keep does not name; it has an entry for each.
func (b *Batch) Keep(keep []bool) {
	for i := range b.Columns {
		c := &b.Columns[i]
		keepOf(c.Null, keep, false)
		keepOf(c.Int, keep, 0)
		keepOf(c.Wide, keep, Int128{})
		keepOf(c.Float, keep, 0)
		keepOf(c.Text, keep, nil)
		keepOf(c.Nested, keep, nil)
	}
	rows := 0
	for _, k := range keep[:b.Rows] {
		if k {
			rows++
		}
	}
	b.Rows = rows
}

// keepOf moves what is kept to the front, and clears the rest.
func keepOf[T any](values []T, keep []bool, empty T) {
	if values == nil {
		return
	}
	kept := 0
	for row, k := range keep {
		if k {
			values[kept] = values[row]
			kept++
		}
	}
	for row := kept; row < len(keep); row++ {
		values[row] = empty
	}
}

// Slice is the rows of c from first up to end, without copying.
func (c *Column) Slice(first, end int) Column {
	out := Column{Type: c.Type, Null: c.Null[first:end]}
	if c.Int != nil {
		out.Int = c.Int[first:end]
	}
	if c.Wide != nil {
		out.Wide = c.Wide[first:end]
	}
	if c.Float != nil {
		out.Float = c.Float[first:end]
	}
	if c.Text != nil {
		out.Text = c.Text[first:end]
	}
	if c.Nested != nil {
		out.Nested = c.Nested[first:end]
	}
	return out
}
