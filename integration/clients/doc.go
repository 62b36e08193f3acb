// Package clients has the tests of real MySQL clients against a real Shoal: the
// shells of MySQL and MariaDB, PyMySQL and Connector/J.
//
// Each connects as it does by default, makes a database and a table, browses,
// reads values of every type, prepares statements and meets errors; what a
// client decides by, such as numbers of errors and classes of values, is what
// the tests look at. The programs come from internal/testdeps; those of the
// drivers are in testdata.
package clients
