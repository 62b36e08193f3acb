package errorrows_test

import (
	"reflect"
	"testing"

	"shoal/internal/errorrows"
)

func TestHeadersComeBack(t *testing.T) {
	for _, headers := range [][]errorrows.Header{
		{},
		{{Name: []byte("trace"), Value: []byte("abc")}, {Name: []byte("trace"), Value: []byte{}}, {Name: []byte{}, Value: nil}},
		{{Name: []byte("\xFF\x00"), Value: []byte("\x00\xFF\"")}},
	} {
		got, err := errorrows.DecodeHeaders(errorrows.EncodeHeaders(headers))
		if err != nil || !reflect.DeepEqual(got, headers) {
			t.Errorf("%q came back as %q, %v", headers, got, err)
		}
	}
}

func TestDecodeHeadersRefusesNonsense(t *testing.T) {
	for _, text := range []string{"", "{}", `[["a"`, `[["not base64","%"]]`} {
		if got, err := errorrows.DecodeHeaders([]byte(text)); err == nil {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}

// Field ids are for ever: old files are read by them.
func TestSchemaOnlyGrows(t *testing.T) {
	s := errorrows.Schema()
	if n := len(s.Columns); n != 19 || s.Columns[13].Name != "error_time" || s.Columns[13].FieldId != 14 {
		t.Fatalf("%d columns, the fourteenth is %v", n, s.Columns[13])
	}
	if v := errorrows.Visible(); len(v.Columns) != 16 || v.Columns[15].Name != "message_timestamp" {
		t.Fatalf("people see %v", v.Columns)
	}
}
