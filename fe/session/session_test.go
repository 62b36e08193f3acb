package session_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"shoal/fe/errno"
	"shoal/fe/literal"
	"shoal/fe/session"
)

func newSession() *session.Session {
	return session.New(7, "root", "127.0.0.1", session.NewGlobals(session.DefaultServer()))
}

func TestGet(t *testing.T) {
	tests := []struct {
		name, want string
		kind       literal.Kind
	}{
		{"version", "5.7.99", literal.KindString},
		{"VERSION_comment", "Shoal", literal.KindString},
		{"autocommit", "1", literal.KindInt},
		{"tx_isolation", "REPEATABLE-READ", literal.KindString},
		{"sql_select_limit", "18446744073709551615", literal.KindUint},
		{"max_allowed_packet", "67108864", literal.KindInt},
		{"query_cache_type", "OFF", literal.KindString},
		{"init_connect", "", literal.KindString},
		{"warning_count", "0", literal.KindInt},
		{"identity", "0", literal.KindInt},
	}
	s := newSession()
	for _, tt := range tests {
		for _, scope := range []session.Scope{session.SessionScope, session.GlobalScope} {
			v, err := s.Get(scope, tt.name)
			if err != nil || v.Text() != tt.want || v.Kind() != tt.kind {
				t.Errorf("Get(%d, %s) = %q kind %d, %v; want %q kind %d", scope, tt.name, v.Text(), v.Kind(), err, tt.want, tt.kind)
			}
		}
	}
}

func TestSet(t *testing.T) {
	str := literal.String
	tests := []struct {
		name  string
		value literal.Value
		want  string // value afterwards, or
		code  errno.Code
	}{
		{"autocommit", literal.Int(0), "0", errno.Code{}},
		{"AUTOCOMMIT", str("off"), "0", errno.Code{}},
		{"autocommit", literal.Int(2), "", errno.WrongValueForVariable},
		{"sql_select_limit", str("10"), "10", errno.Code{}},
		{"sql_select_limit", literal.Int(-1), "", errno.WrongTypeForVariable},
		{"net_write_timeout", literal.Int(0), "1", errno.Code{}},
		{"sql_mode", str("STRICT_TRANS_TABLES"), "STRICT_TRANS_TABLES", errno.Code{}},
		{"sql_mode", literal.Null(), "", errno.WrongValueForVariable},
		{"character_set_results", literal.Null(), "", errno.Code{}},
		{"character_set_results", str("binary"), "binary", errno.Code{}},
		{"character_set_client", literal.Null(), "", errno.UnknownCharset},
		{"character_set_client", str("klingon"), "", errno.UnknownCharset},
		{"collation_connection", str("utf8mb4_unicode_ci"), "utf8mb4_unicode_ci", errno.Code{}},
		{"collation_connection", str("klingon_ci"), "", errno.UnknownCollation},
		{"tx_isolation", str("read-committed"), "READ-COMMITTED", errno.Code{}},
		{"transaction_isolation", str("CHAOS"), "", errno.WrongValueForVariable},
		{"time_zone", str("+05:30"), "+05:30", errno.Code{}},
		{"time_zone", str("Europe/Berlin"), "Europe/Berlin", errno.Code{}},
		{"time_zone", str("+15:00"), "", errno.UnknownTimeZone},
		{"time_zone", str("Local"), "", errno.UnknownTimeZone},
		{"time_zone", str("../../etc/passwd"), "", errno.UnknownTimeZone},
		{"version", str("8.0.0"), "", errno.ReadOnlyVariable},
		{"warning_count", literal.Int(1), "", errno.ReadOnlyVariable},
		{"no_such", literal.Int(1), "", errno.UnknownSystemVariable},
	}
	for _, tt := range tests {
		t.Run(tt.name+"="+tt.value.Text(), func(t *testing.T) {
			s := newSession()
			err := s.Set(session.SessionScope, tt.name, tt.value)
			if tt.code.Num != 0 {
				if !errors.Is(err, tt.code) {
					t.Errorf("error %v, want %v", err, tt.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v, err := s.Get(session.SessionScope, tt.name); err != nil || v.Text() != tt.want {
				t.Errorf("is %q, %v; want %q", v.Text(), err, tt.want)
			}
		})
	}
}

func TestScopesAndDefault(t *testing.T) {
	globals := session.NewGlobals(session.DefaultServer())
	first := session.New(1, "root", "h", globals)
	if err := first.Set(session.GlobalScope, "wait_timeout", literal.Int(5)); err != nil {
		t.Fatal(err)
	}
	second := session.New(2, "root", "h", globals)
	if first.IdleTimeout() != 8*time.Hour || second.IdleTimeout() != 5*time.Second {
		t.Errorf("idle time-outs %v and %v: a GLOBAL value is for later sessions", first.IdleTimeout(), second.IdleTimeout())
	}
	if err := first.SetDefault(session.SessionScope, "wait_timeout"); err != nil || first.IdleTimeout() != 5*time.Second {
		t.Errorf("session default = %v, %v; want the global value", first.IdleTimeout(), err)
	}
	if err := first.SetDefault(session.GlobalScope, "wait_timeout"); err != nil {
		t.Fatal(err)
	}
	if v, _ := first.Get(session.GlobalScope, "wait_timeout"); v.Text() != "28800" {
		t.Errorf("global default = %s", v.Text())
	}
}

func TestVariables(t *testing.T) {
	s := newSession()
	all := s.Variables(session.SessionScope)
	if !slices.IsSortedFunc(all, func(a, b session.Setting) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("SHOW VARIABLES is not sorted")
	}
	want := map[string]string{"autocommit": "ON", "foreign_key_checks": "ON", "log_bin": "OFF", "tx_isolation": "REPEATABLE-READ", "version": "5.7.99", "port": "9030"}
	for _, v := range all {
		if w, ok := want[v.Name]; ok {
			if v.Value != w {
				t.Errorf("%s = %q, want %q", v.Name, v.Value, w)
			}
			delete(want, v.Name)
		}
	}
	if len(want) != 0 {
		t.Errorf("not listed: %v", want)
	}
}

func TestSetNames(t *testing.T) {
	tests := []struct {
		charset, collation         string
		wantCharset, wantCollation string
		code                       errno.Code
	}{
		{"utf8mb4", "", "utf8mb4", "utf8mb4_general_ci", errno.Code{}},
		{"UTF8MB4", "utf8mb4_0900_ai_ci", "utf8mb4", "utf8mb4_0900_ai_ci", errno.Code{}},
		{"utf8mb3", "utf8_general_ci", "utf8mb3", "utf8_general_ci", errno.Code{}},
		{"", "", "utf8mb4", "utf8mb4_general_ci", errno.Code{}},
		{"latin1", "utf8mb4_bin", "", "", errno.CollationMismatch},
		{"ebcdic", "", "", "", errno.UnknownCharset},
	}
	for _, tt := range tests {
		s := newSession()
		err := s.SetNames(tt.charset, tt.collation)
		if tt.code.Num != 0 {
			if !errors.Is(err, tt.code) {
				t.Errorf("SetNames(%q, %q): %v, want %v", tt.charset, tt.collation, err, tt.code)
			}
			continue
		}
		charset, _ := s.Get(session.SessionScope, "character_set_results")
		collation, _ := s.Get(session.SessionScope, "collation_connection")
		if err != nil || charset.Text() != tt.wantCharset || collation.Text() != tt.wantCollation {
			t.Errorf("SetNames(%q, %q): %q %q, %v", tt.charset, tt.collation, charset.Text(), collation.Text(), err)
		}
	}
}

func TestLimits(t *testing.T) {
	s := newSession()
	if s.QueryTimeout() != 15*time.Minute || s.SelectLimit() != 1<<64-1 || s.WriteTimeout() != time.Minute {
		t.Errorf("defaults: %v %d %v", s.QueryTimeout(), s.SelectLimit(), s.WriteTimeout())
	}
	for name, n := range map[string]int64{"query_timeout": 0, "max_execution_time": 1500, "max_statement_time": 2} {
		if err := s.Set(session.SessionScope, name, literal.Int(n)); err != nil {
			t.Fatal(err)
		}
	}
	if s.QueryTimeout() != 1500*time.Millisecond {
		t.Errorf("shortest of 2 s and 1500 ms is %v", s.QueryTimeout())
	}
	noon := time.Date(2024, 7, 1, 12, 0, 0, 0, time.UTC)
	for zone, want := range map[string]string{"SYSTEM": "12:00", "-03:30": "08:30", "Asia/Tokyo": "21:00"} {
		if err := s.Set(session.SessionScope, "time_zone", literal.String(zone)); err != nil {
			t.Fatal(err)
		}
		if got := noon.In(s.Location()).Format("15:04"); got != want {
			t.Errorf("noon in %s is %s, want %s", zone, got, want)
		}
	}
}

func TestResetForgets(t *testing.T) {
	s := newSession()
	s.DB, s.InTransaction = "shop", true
	s.SetUserVar("A", literal.Int(1))
	s.Warn(session.LevelError, errno.Syntax, "x")
	if err := s.Set(session.SessionScope, "autocommit", literal.Int(0)); err != nil {
		t.Fatal(err)
	}
	if s.Status() != session.StatusInTransaction || s.UserVar("a") != literal.Int(1) {
		t.Errorf("before: status %#x, @a %v", s.Status(), s.UserVar("a"))
	}
	clone := s.Clone()
	s.Reset()
	if s.Status() != session.StatusAutocommit || !s.UserVar("a").IsNull() || len(s.Warnings()) != 0 || s.DB != "shop" {
		t.Errorf("after: status %#x, @a %v, %d warnings, db %q", s.Status(), s.UserVar("a"), len(s.Warnings()), s.DB)
	}
	if clone.Status() != session.StatusInTransaction || len(clone.Warnings()) != 1 {
		t.Error("the clone followed its original")
	}
}

func TestWarnings(t *testing.T) {
	s := newSession()
	s.Warn(session.LevelError, errno.Syntax, "bad")
	for range 100 {
		s.Warn(session.LevelNote, errno.BadTable, "gone")
	}
	for name, want := range map[string]string{"warning_count": "64", "error_count": "1"} {
		if v, _ := s.Get(session.SessionScope, name); v.Text() != want {
			t.Errorf("@@%s = %s, want %s", name, v.Text(), want)
		}
	}
	s.ClearWarnings()
	if len(s.Warnings()) != 0 {
		t.Error("warnings outlive ClearWarnings")
	}
}
