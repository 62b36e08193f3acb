// Package removal removes the files of the warehouse that nobody needs.
package removal
