package rowsetmeta_test

import (
	"reflect"
	"strings"
	"testing"

	"shoal/internal/offsets"
	"shoal/internal/rowsetmeta"
)

func set(t testing.TB, text string) offsets.Set {
	s, err := offsets.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEncode(t *testing.T) {
	parts := []rowsetmeta.Partition{
		{Topic: "t", TopicID: [16]byte{1: 0xab}, Partition: 4, Loaded: set(t, "100,105-106"), Void: set(t, "101-104"), Expired: set(t, "0-9")},
		{Topic: "t", TopicID: [16]byte{15: 1}, Partition: 5},
	}
	text := rowsetmeta.Encode(parts)
	want := `[{"topic":"t","topic_id":"00ab0000000000000000000000000000","partition":4,"offsets":"100,105-106","void":"101-104","expired":"0-9"},` +
		`{"topic":"t","topic_id":"00000000000000000000000000000001","partition":5,"offsets":"none"}]`
	if text != want {
		t.Errorf("Encode = %s\nwant %s", text, want)
	}
	if got, err := rowsetmeta.Decode(text); err != nil || !reflect.DeepEqual(got, parts) {
		t.Errorf("Decode = %+v, %v", got, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	id := strings.Repeat("0a", 16)
	for text, why := range map[string]string{
		"":                              "JSON",
		"[":                             "JSON",
		`[{"topic_id":"0a"}]`:           "topic id",
		`[{"topic_id":"` + id + `0a"}]`: "topic id",
		`[{"topic_id":"` + strings.Repeat("x", 32) + `"}]`:            "topic id",
		`[{"topic_id":"` + id + `","offsets":"5-1"}]`:                 "5-1",
		`[{"topic_id":"` + id + `","void":"1-2,2-3"}]`:                "2-3",
		`[{"topic_id":"` + id + `","partition":3000000000}]`:          "partition",
		`[{"topic_id":"` + id + `","expired":"1,,2"}]`:                `""`,
		`[{"topic_id":"` + id + `","offsets":"9223372036854775808"}]`: "9223372036854775808",
	} {
		if got, err := rowsetmeta.Decode(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("Decode(%s) = %v, %v, want an error with %q", text, got, err, why)
		}
	}
}

// FuzzDecode: what Decode takes, Encode writes so that it is the same again.
func FuzzDecode(f *testing.F) {
	f.Add(rowsetmeta.Encode([]rowsetmeta.Partition{{Topic: "t", TopicID: [16]byte{1}, Partition: 1, Loaded: offsets.Set{{First: 1, Last: 4}}}}))
	f.Add("null")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := rowsetmeta.Decode(text)
		if err != nil {
			return
		}
		again, err := rowsetmeta.Decode(rowsetmeta.Encode(got))
		if err != nil || len(got) != len(again) || len(got) > 0 && !reflect.DeepEqual(got, again) {
			t.Errorf("%q: %+v, then %+v, %v", text, got, again, err)
		}
	})
}
