package errno_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"shoal/fe/errno"
)

func TestFrom(t *testing.T) {
	cause := errors.New("disk on fire")
	tests := []struct {
		name  string
		err   error
		num   uint16
		state string
		msg   string
	}{
		{"an error", errno.New(errno.NoSuchTable, "Table '%s' doesn't exist", "d.t"), 1146, "42S02", "Table 'd.t' doesn't exist"},
		{"wrapped further", fmt.Errorf("plan: %w", errno.Wrap(errno.Syntax, cause, "near 'x'")), 1064, "42000", "near 'x'"},
		{"a bare code", fmt.Errorf("drop: %w", errno.DatabaseNotExists), 1008, "HY000", "database doesn't exist"},
		{"no text", errno.New(errno.Syntax, ""), 1064, "42000", "syntax error"},
		{"not classified", cause, 1105, "HY000", "internal error; the frontend's log has the cause"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := errno.From(tt.err)
			if e.Code.Num != tt.num || e.Code.State != tt.state || e.Msg != tt.msg {
				t.Errorf("From = %d/%s %q, want %d/%s %q", e.Code.Num, e.Code.State, e.Msg, tt.num, tt.state, tt.msg)
			}
		})
	}
	if errno.From(nil) != nil {
		t.Error("From(nil) is not nil")
	}
}

func TestIsFindsCodeAndCause(t *testing.T) {
	err := errno.Wrap(errno.QueryInterrupted, context.Canceled, "stopped")
	if !errors.Is(err, errno.QueryInterrupted) || !errors.Is(err, context.Canceled) {
		t.Errorf("code or cause lost in %v", err)
	}
	if errors.Is(err, errno.QueryTimeout) {
		t.Error("an error is of a code that it does not have")
	}
	if got := err.Error(); got != "stopped: context canceled" {
		t.Errorf("log text = %q", got)
	}
}
