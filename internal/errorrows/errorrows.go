// Package errorrows has the schema of rowsets of error rows, which backends
// write, information_schema.routine_load_errors reads, and dead letters are
// delivered from.
//
// Such a rowset is a Parquet file like any other. Its field ids are fixed for
// ever; columns are only added. Rows are in the order of their messages, and
// rows of one message stand together. There is nothing else here.
package errorrows

import typesv1 "shoal/proto/types/v1"

// The columns, in the order of Schema.
const (
	JobID = iota
	DBName
	JobName
	TableName // of a multi-table job, as the message names it
	Label
	KafkaTopic
	KafkaPartition
	KafkaOffset
	Line        // of the message, from 1
	ColumnName  // NULL where the row as a whole is to blame
	SourceValue // NULL where there is none
	Reason
	Raw              // the first KiB of the message, or of its line; bytes that are no text as \xHH
	ErrorTime        // UTC
	KafkaTopicID     // in hexadecimal digits
	MessageTimestamp // as the record has it; UTC; NULL where that is no time

	// The whole message, in the first of its error rows and only if the job has a
	// dead letter topic; else NULL. A message always has a value.
	MessageKey     // base64; NULL where there is none
	MessageValue   // base64
	MessageHeaders // JSON, see EncodeHeaders
)

// Visible is the schema as people see it: without the whole message.
func Visible() *typesv1.Schema {
	s := Schema()
	s.Columns = s.Columns[:MessageKey]
	return s
}

// Schema makes the schema: field ids 1 to 19.
func Schema() *typesv1.Schema {
	columns := []*typesv1.Column{
		JobID:            {Name: "job_id", Type: "bigint"},
		DBName:           {Name: "db_name", Type: "text"},
		JobName:          {Name: "job_name", Type: "text"},
		TableName:        {Name: "table_name", Type: "text"},
		Label:            {Name: "label", Type: "text"},
		KafkaTopic:       {Name: "kafka_topic", Type: "text"},
		KafkaPartition:   {Name: "kafka_partition", Type: "int"},
		KafkaOffset:      {Name: "kafka_offset", Type: "bigint"},
		Line:             {Name: "line", Type: "int"},
		ColumnName:       {Name: "column_name", Type: "text"},
		SourceValue:      {Name: "source_value", Type: "text"},
		Reason:           {Name: "reason", Type: "text"},
		Raw:              {Name: "raw", Type: "text"},
		ErrorTime:        {Name: "error_time", Type: "datetime(3)"},
		KafkaTopicID:     {Name: "kafka_topic_id", Type: "text"},
		MessageTimestamp: {Name: "message_timestamp", Type: "datetime(3)"},
		MessageKey:       {Name: "message_key", Type: "text"},
		MessageValue:     {Name: "message_value", Type: "text"},
		MessageHeaders:   {Name: "message_headers", Type: "text"},
	}
	for i, c := range columns {
		c.FieldId = int32(i + 1)
		c.Nullable = true
	}
	return &typesv1.Schema{Version: 1, Columns: columns}
}
