// Package testdeps tells tests where the programs are that they run Shoal against: shells and drivers of MySQL and
// MariaDB, Kafka, an S3 server. scripts/test-deps finds or installs them and hands them over in the environment.
//
// What cannot run for lack of a program fails and names it. A caller opts out by name: SHOAL_TEST_WITHOUT, a list with
// commas, of the names below; then the test is skipped and says so.
package testdeps

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A Dep is something the tests need, by the name that SHOAL_TEST_WITHOUT and scripts/test-deps know it by.
type Dep string

// The deps. Kafka has no variable: internal/testkafka runs it.
const (
	Kafka      Dep = "kafka"
	MariaDB    Dep = "mariadb"    // path of MariaDB's shell
	MySQL      Dep = "mysql"      // path of MySQL's own shell
	PyMySQL    Dep = "pymysql"    // path of a Python that can import pymysql
	ConnectorJ Dep = "connectorj" // class path with MySQL Connector/J
	S3         Dep = "s3"         // path of an S3 server, versitygw
)

var variables = map[Dep]string{
	MariaDB: "SHOAL_MARIADB", MySQL: "SHOAL_MYSQL", PyMySQL: "SHOAL_PYTHON", ConnectorJ: "SHOAL_CONNECTORJ", S3: "SHOAL_S3",
}

// Skip skips the test if the caller opted out of d.
func Skip(tb testing.TB, d Dep) {
	tb.Helper()
	if slices.Contains(strings.Split(os.Getenv("SHOAL_TEST_WITHOUT"), ","), string(d)) {
		tb.Skipf("SHOAL_TEST_WITHOUT names %s, which this test needs", d)
	}
}

// Find returns where d is. It skips the test if the caller opted out, and fails it if nobody said.
func Find(tb testing.TB, d Dep) string {
	tb.Helper()
	Skip(tb, d)
	where := os.Getenv(variables[d])
	if where == "" {
		tb.Fatalf("%s is not set: run the tests by make test, or set what scripts/test-deps prints,"+
			" or opt out by SHOAL_TEST_WITHOUT=%s", variables[d], d)
	}
	return where
}
