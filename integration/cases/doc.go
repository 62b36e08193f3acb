// Package cases has the troubles that people had with Kafka-to-table loaders,
// each as a small input with the right outcome, on a real broker and real
// processes, through a real MySQL driver. TestC01 is case 1, and so on.
//
// Most cases are a table: a table's columns, a job, messages, and what becomes of
// them. They run in the modes that they are about, several at a time on one
// broker and one Shoal. Cases that kill, restart or need another broker have
// their own. Every case ends with all records accounted for: rows, error rows,
// unselected rows and empty messages add up, and the job runs without lag or is
// paused with a reason.
package cases
