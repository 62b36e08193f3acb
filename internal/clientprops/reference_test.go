package clientprops_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal/internal/clientprops"
)

func TestReferences(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	for path, text := range map[string]string{filepath.Join(dir, "password"): secret + "\n", outside: secret, filepath.Join(dir, "large"): strings.Repeat("x", 1<<20+1)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHOAL_SECRET_PASSWORD", secret)
	t.Setenv("HOME_SECRET", secret)
	t.Setenv(clientprops.FolderVariable, dir)
	for value, want := range map[string]string{ // what the error has; empty for none
		secret:                              "",
		"${env:SHOAL_SECRET_PASSWORD}":      "",
		"${env:SHOAL_SECRET_NONE}":          "does not have",
		"${env:HOME_SECRET}":                "begin with SHOAL_SECRET_",
		"${file:password}":                  "",
		"${file:" + dir + "/password}":      "",
		"${file:none}":                      "no such file",
		"${file:" + outside + "}":           "not below",
		"${file:../outside}":                "not below",
		"${file:link}":                      "escapes",
		"${file:.}":                         "not a file",
		"${file:large}":                     "larger than",
		"a${env:SHOAL_SECRET_PASSWORD}":     "nothing else",
		"${env:SHOAL_SECRET_PASSWORD}${}":   "nothing else",
		"${env:SHOAL_SECRET_PASSWORD":       "nothing else",
		"${env:SHOAL_SECRET_${env:X}}":      "nothing else",
		"${file:" + dir + "}":               "not a file",
		"${file:}":                          "not below",
		"${file:/}":                         "not below",
		"${file:" + dir + "/../../outside}": "not below",
	} {
		_, err := clientprops.Options(sasl("PLAIN", "sasl.username", "u", "sasl.password", value), nil)
		switch {
		case (err == nil) != (want == ""), err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%s: error %v, want %q", value, err, want)
		case err != nil && strings.Contains(err.Error(), secret):
			t.Errorf("%s: the error shows the secret: %v", value, err)
		}
	}
	if _, err := clientprops.Options(props("security.protocol", "${env:SHOAL_SECRET_PASSWORD}"), nil); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("a reference where none may be: %v", err)
	}
	t.Setenv(clientprops.FolderVariable, "")
	if _, err := clientprops.Options(sasl("PLAIN", "sasl.username", "u", "sasl.password", "${file:password}"), nil); err == nil || !strings.Contains(err.Error(), clientprops.FolderVariable) {
		t.Errorf("no secrets folder: %v", err)
	}
}
