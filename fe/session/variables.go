package session

import (
	"math"

	"shoal/fe/literal"
)

// A form is how a variable's values look and are checked.
type form uint8

const (
	formText      form = iota
	formInt            // a whole number between least and most
	formBool           // 1 and 0 in SELECT, ON and OFF in SHOW
	formCharset        // a character set's name
	formResults        // the same, or NULL
	formCollation      // a collation's name
	formTimeZone       // SYSTEM, an offset or a zone's name
	formIsolation      // READ-COMMITTED and the like
)

// A variable is one line of the table of system variables.
type variable struct {
	form        form
	initial     literal.Value
	readOnly    bool
	least, most uint64 // formInt only
}

func text(initial string) variable { return variable{initial: literal.String(initial)} }

func number(initial, least, most uint64) variable {
	v := variable{form: formInt, least: least, most: most}
	v.initial = wholeValue(initial)
	return v
}

func boolean(on bool) variable { return variable{form: formBool, initial: boolValue(on)} }

func of(f form, initial string) variable {
	return variable{form: f, initial: literal.String(initial)}
}

func fixed(v variable) variable {
	v.readOnly = true
	return v
}

func boolValue(on bool) literal.Value {
	if on {
		return literal.Int(1)
	}
	return literal.Int(0)
}

// wholeValue is signed where that is enough, as most of MySQL's are.
func wholeValue(n uint64) literal.Value {
	if n > math.MaxInt64 {
		return literal.Uint(n)
	}
	return literal.Int(int64(n))
}

const year = 365 * 24 * 3600 // seconds

// aliases are second names of variables.
var aliases = map[string]string{
	"tx_isolation": "transaction_isolation",
	"tx_read_only": "transaction_read_only",
	"identity":     "last_insert_id",
}

// computed variables are read from elsewhere; the table has them for SHOW.
var computed = map[string]func(*Session) int64{
	"warning_count":  func(s *Session) int64 { return s.countWarnings(false) },
	"error_count":    func(s *Session) int64 { return s.countWarnings(true) },
	"last_insert_id": func(*Session) int64 { return 0 },
}

// variables are all system variables under their first names: those that
// drivers, shells and BI tools read at connect or set. One unknown variable
// ends a Connector/J connection, so the table has many without effect here;
// these keep what was set. The values of NewGlobals' Server replace some.
var variables = map[string]variable{
	// What the server is.
	"version":                 fixed(text("")),
	"version_comment":         fixed(text("")),
	"version_compile_os":      fixed(text("Linux")),
	"version_compile_machine": fixed(text("x86_64")),
	"hostname":                fixed(text("")),
	"port":                    fixed(number(0, 0, math.MaxUint16)),
	"license":                 fixed(text("Apache License 2.0")),
	"language":                fixed(text("/usr/share/mysql/english/")),
	"max_connections":         fixed(number(0, 0, math.MaxUint32)),
	"lower_case_table_names":  fixed(number(0, 0, 2)),
	"init_connect":            fixed(text("")),
	"performance_schema":      fixed(boolean(false)),
	"default_storage_engine":  fixed(text("OLAP")),
	"have_ssl":                fixed(text("DISABLED")),
	"read_only":               fixed(boolean(false)),
	"super_read_only":         fixed(boolean(false)),
	"event_scheduler":         fixed(text("OFF")),
	"log_bin":                 fixed(boolean(false)),
	"tmp_table_size":          fixed(number(16<<20, 0, math.MaxInt64)),
	"system_time_zone":        fixed(text("UTC")),
	"warning_count":           fixed(number(0, 0, maxWarnings)),
	"error_count":             fixed(number(0, 0, maxWarnings)),
	"last_insert_id":          fixed(number(0, 0, math.MaxUint64)),

	// Text and time.
	"character_set_client":     of(formCharset, "utf8mb4"),
	"character_set_connection": of(formCharset, "utf8mb4"),
	"character_set_results":    of(formResults, "utf8mb4"),
	"character_set_server":     of(formCharset, "utf8mb4"),
	"character_set_database":   of(formCharset, "utf8mb4"),
	"character_set_system":     fixed(text("utf8")),
	"collation_connection":     of(formCollation, "utf8mb4_general_ci"),
	"collation_server":         of(formCollation, "utf8mb4_general_ci"),
	"collation_database":       of(formCollation, "utf8mb4_general_ci"),
	"time_zone":                of(formTimeZone, "SYSTEM"),
	"sql_mode":                 text("ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"),

	// Transactions.
	"autocommit":            boolean(true),
	"transaction_isolation": of(formIsolation, "REPEATABLE-READ"),
	"transaction_read_only": boolean(false),

	// Limits. wait_timeout, net_write_timeout, sql_select_limit, query_timeout
	// (seconds) and max_execution_time (milliseconds) act; 0 is no limit.
	"max_allowed_packet":  number(0, 1024, 1<<30), // as announced; the reader keeps the Server's
	"wait_timeout":        number(28800, 1, year),
	"interactive_timeout": number(28800, 1, year),
	"net_write_timeout":   number(60, 1, year),
	"net_read_timeout":    number(30, 1, year),
	"net_buffer_length":   number(16384, 1024, 1<<20),
	"sql_select_limit":    number(math.MaxUint64, 0, math.MaxUint64),
	"query_timeout":       number(900, 0, year),
	"max_execution_time":  number(0, 0, math.MaxUint32),
	"max_statement_time":  number(0, 0, year),

	// Set or read by tools, without effect.
	"auto_increment_increment":        number(1, 1, math.MaxUint16),
	"query_cache_size":                number(0, 0, math.MaxUint32),
	"query_cache_type":                text("OFF"),
	"sql_auto_is_null":                boolean(false),
	"sql_safe_updates":                boolean(false),
	"sql_quote_show_create":           boolean(true),
	"foreign_key_checks":              boolean(true),
	"unique_checks":                   boolean(true),
	"optimizer_switch":                text(""),
	"information_schema_stats_expiry": number(86400, 0, year),
	"gtid_mode":                       text("OFF"),
	"gtid_executed":                   text(""),
	"session_track_schema":            boolean(true),
	"session_track_state_change":      boolean(false),
	"session_track_transaction_info":  text("OFF"),
	"session_track_system_variables":  text("time_zone,autocommit,character_set_client,character_set_results,character_set_connection"),
}
