package timezone_test

import (
	"testing"
	"time"

	"shoal/sql/timezone"
)

func TestLoad(t *testing.T) {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for name, want := range map[string]string{
		"": "12:00", "SYSTEM": "12:00", "utc": "12:00", "Asia/Shanghai": "20:00", "CST": "20:00", "Europe/Berlin": "14:00",
		"+05:30": "17:30", "-9:30": "02:30", "+14:00": "02:00", "-13:59": "22:01", "+00:00": "12:00",
	} {
		location, err := timezone.Load(name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if got := noon.In(location).Format("15:04"); got != want {
			t.Errorf("noon in %q is %s, want %s", name, got, want)
		}
		normal, err := timezone.Normal(name)
		if again, err2 := timezone.Load(normal); err != nil || err2 != nil || noon.In(again).Format("15:04") != want {
			t.Errorf("%q is stored as %q: %v, %v", name, normal, err, err2)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, name := range []string{"Local", "Moon/Base", "+15:00", "-14:00", "+5", "+05:60", "+", "../etc/passwd", "Asia/Shanghai\x00"} {
		if location, err := timezone.Load(name); err == nil {
			t.Errorf("%q is %v", name, location)
		}
	}
}

func TestNormal(t *testing.T) {
	for name, want := range map[string]string{"+8:00": "+08:00", "cst": "Asia/Shanghai", "system": "UTC", "Asia/Kolkata": "Asia/Kolkata"} {
		if got, err := timezone.Normal(name); got != want || err != nil {
			t.Errorf("Normal(%q) = %q, %v; want %q", name, got, err, want)
		}
	}
}
