package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestFillFlags(t *testing.T) {
	const file = "data-dir: /from/file\nmysql-addr: 127.0.0.1:1\nfe: [a:1, b:2]\n"
	for _, tt := range []struct {
		name    string
		args    []string
		env     map[string]string
		file    string
		dataDir string
		fe      []string
		err     string
	}{
		{name: "default", dataDir: "data"},
		{name: "file", file: file, dataDir: "/from/file", fe: []string{"a:1", "b:2"}},
		{name: "environment beats file", file: file, env: map[string]string{"SHOAL_DATA_DIR": "/from/env"}, dataDir: "/from/env", fe: []string{"a:1", "b:2"}},
		{name: "flag beats both", args: []string{"--data-dir=/from/flag"}, file: file, env: map[string]string{"SHOAL_DATA_DIR": "/from/env"}, dataDir: "/from/flag", fe: []string{"a:1", "b:2"}},
		{name: "misspelt key", file: "datadir: x\n", err: `"datadir"`},
		{name: "bad value", env: map[string]string{"SHOAL_SLOTS": "many"}, err: "SHOAL_SLOTS"},
		{name: "nested", file: "data-dir: {a: 1}\n", err: "a value or a list"},
		{name: "not YAML", file: "a: [\n", err: "config file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := &cobra.Command{Use: "be"}
			dataDir := cmd.Flags().String("data-dir", "data", "")
			cmd.Flags().String("mysql-addr", "", "")
			cmd.Flags().String("config", "", "")
			cmd.Flags().Int("slots", 16, "")
			fe := cmd.Flags().StringSlice("fe", nil, "")
			if err := cmd.ParseFlags(tt.args); err != nil {
				t.Fatal(err)
			}
			env := map[string]string{}
			for k, v := range tt.env {
				env[k] = v
			}
			if tt.file != "" {
				env["SHOAL_CONFIG"] = filepath.Join(t.TempDir(), "shoal.yaml")
				if err := os.WriteFile(env["SHOAL_CONFIG"], []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := fillFlags(cmd, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want one with %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if *dataDir != tt.dataDir || !slices.Equal(*fe, tt.fe) {
				t.Errorf("data-dir %s, fe %v; want %s, %v", *dataDir, *fe, tt.dataDir, tt.fe)
			}
		})
	}
}
