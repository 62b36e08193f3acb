// Package archtest holds only tests: they keep the source tree in the shape that ARCHITECTURE.md describes. Who may
// import whom is a table (map_test.go) that is changed on purpose, in the commit that needs the new arrow.
package archtest
