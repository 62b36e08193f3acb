package bucket

import (
	"strings"
	"testing"
)

func TestParseURI(t *testing.T) {
	for _, tt := range []struct {
		uri  string
		want Place
	}{
		{"s3://bucket", Place{Name: "bucket"}},
		{"s3://bucket/", Place{Name: "bucket"}},
		{"s3://my.bucket-1/a/b_c/", Place{Name: "my.bucket-1", Prefix: "a/b_c"}},
		{"s3://bucket/p?region=eu-central-1", Place{Name: "bucket", Prefix: "p", Region: "eu-central-1"}},
		{"s3://bucket?endpoint=http://127.0.0.1:9000", Place{Name: "bucket", Endpoint: "http://127.0.0.1:9000", PathStyle: true}},
		{"s3://bucket?endpoint=https://r2.example.com&path_style=false", Place{Name: "bucket", Endpoint: "https://r2.example.com"}},
	} {
		if got, err := ParseURI(tt.uri); err != nil || got != tt.want {
			t.Errorf("ParseURI(%q) = %+v, %v", tt.uri, got, err)
		}
	}
}

func TestParseURIRefuses(t *testing.T) {
	for uri, want := range map[string]string{
		"s3:bucket": "no name of a bucket", "s3:///p": "no name of a bucket", "s3://Bucket": "small letters", "file:///x": "s3://bucket/prefix",
		"s3://key:HUSH@bucket/p": "user or password", "s3://bucket?secret_key=HUSH": "unknown", "s3://bucket#HUSH": "'#'",
		"s3://bucket/a//b": "prefix", "s3://bucket/a b": "prefix", "s3://bucket?path_style=maybe": "true or false",
		"s3://bucket?endpoint=localhost:9000": "endpoint", "s3://bucket?endpoint=http://u:HUSH@h": "endpoint", "s3://bucket?%": "key=value",
		"s3://\x01HUSH": "s3://bucket/prefix",
	} {
		if _, err := ParseURI(uri); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "HUSH") {
			t.Errorf("ParseURI(%q) = %v, want %q", uri, err, want)
		}
	}
}

func FuzzParseURI(f *testing.F) {
	f.Add("s3://bucket/prefix?endpoint=http://127.0.0.1:9000&region=eu-1&path_style=true")
	f.Fuzz(func(t *testing.T, uri string) {
		place, err := ParseURI(uri)
		if err == nil && (place.Name == "" || strings.HasPrefix(place.Prefix, "/") || strings.Contains(place.String(), "?")) {
			t.Errorf("ParseURI(%q) = %+v", uri, place)
		}
	})
}
