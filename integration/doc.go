// Package integration tests Shoal as a whole: real processes, a real Kafka
// broker, real MySQL clients, kill -9.
//
// The tests see what a user sees: SQL, and the logs of the processes. Each test
// that a broker may be shared with keeps apart by topic, database and job.
package integration
