package rowsetname

import "testing"

func TestNames(t *testing.T) {
	for path, want := range map[string]Name{
		"10003/1-10004-10005-10006-7.parquet":           {Table: 10003, Incarnation: 1, Job: 10004, Task: 10005, Epoch: 10006, Number: 7},
		"10003/2-10004-10005-10006-7-errors.parquet":    {Table: 10003, Incarnation: 2, Job: 10004, Task: 10005, Epoch: 10006, Number: 7, Errors: true},
		"0/1-1-1-1-18446744073709551615-errors.parquet": {Incarnation: 1, Job: 1, Task: 1, Epoch: 1, Number: 1<<64 - 1, Errors: true},
	} {
		if got, ok := Parse(path); !ok || got != want {
			t.Errorf("Parse(%q) = %+v, %v", path, got, ok)
		}
		if got := want.String(); got != path {
			t.Errorf("%+v is spelled %q, want %q", want, got, path)
		}
	}
}

func TestOtherPaths(t *testing.T) {
	for _, path := range []string{
		"", "shoal-warehouse.json", ".trial-1", "10003/notes.parquet", "10003/1-2-3-4-5", "10003/1-2-3-4-5.parquet.tmp", "x/10003/1-2-3-4-5.parquet",
		"10003/1-2-3-4.parquet", "10003/1-2-3-4-5-6.parquet", "10003/1-2-3-4-5-error.parquet", "10003/01-2-3-4-5.parquet", "010003/1-2-3-4-5.parquet",
		"10003/0-2-3-4-5.parquet", "10003/1-0-3-4-5.parquet", "10003/1-2-3-4-0.parquet", "10003/1-2-3-4-18446744073709551616.parquet", "10003/1-2-3-4--5.parquet",
		"10003/1-2-3-4-5.parquet\n", "t/1-2-3-4-5.parquet", "10003/1-2-3-4-٣.parquet",
	} {
		if n, ok := Parse(path); ok {
			t.Errorf("%q is taken for %+v", path, n)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("10003/1-10004-10005-10006-7-errors.parquet")
	f.Fuzz(func(t *testing.T, path string) {
		if n, ok := Parse(path); ok && n.String() != path {
			t.Errorf("%q is read as %+v, which is spelled %q", path, n, n)
		}
	})
}
