package files

import (
	"testing"
	"testing/synctest"
	"time"
)

// lines returns the lines of a field.
func lines(values ...string) (all [][]byte) {
	for _, v := range values {
		all = append(all, []byte(v))
	}
	return all
}

var (
	modified = time.Date(2020, 3, 7, 10, 0, 0, 0, time.UTC)
	at       = lines("Sat, 07 Mar 2020 10:00:00 GMT")
	before   = lines("Sat, 07 Mar 2020 09:59:59 GMT")
	after    = lines("Sat, 07 Mar 2020 10:00:01 GMT")
	noDate   = lines("yesterday")
)

func TestFailed(t *testing.T) {
	for _, tc := range []struct {
		name           string
		tag            string
		conditions     Conditions
		read, modified int // what is returned for methods that read, and for those that modify
	}{
		{"none", `"a"`, Conditions{}, 0, 0},

		{"If-Match", `"a"`, Conditions{Match: lines(`"a"`)}, 0, 0},
		{"If-Match, another", `"a"`, Conditions{Match: lines(`"b"`)}, 412, 412},
		{"If-Match, one of two", `"a"`, Conditions{Match: lines(`"b", "a"`)}, 0, 0},
		{"If-Match, on the second line", `"a"`, Conditions{Match: lines(`"b"`, `"a"`)}, 0, 0},
		{"If-Match is strong", `"a"`, Conditions{Match: lines(`W/"a"`)}, 412, 412},
		{"If-Match of a weak tag", `W/"a"`, Conditions{Match: lines(`W/"a"`)}, 412, 412},
		{"If-Match, any", "", Conditions{Match: lines("*")}, 0, 0},
		{"If-Match, empty", `"a"`, Conditions{Match: lines("", "")}, 0, 0},
		{"If-Match, junk in front", `"a"`, Conditions{Match: lines(`a, "a"`)}, 412, 412},
		{"If-Match, junk behind", `"a"`, Conditions{Match: lines(`"a", a`)}, 0, 0},
		{"If-Match comes before the date", `"a"`, Conditions{Match: lines(`"a"`), UnmodifiedSince: before}, 0, 0},

		{"If-Unmodified-Since", "", Conditions{UnmodifiedSince: at}, 0, 0},
		{"If-Unmodified-Since, earlier", "", Conditions{UnmodifiedSince: before}, 412, 412},
		{"If-Unmodified-Since, twice", "", Conditions{UnmodifiedSince: append(lines(string(before[0])), before...)}, 0, 0},
		{"If-Unmodified-Since, no date", "", Conditions{UnmodifiedSince: noDate}, 0, 0},

		{"If-None-Match", `"a"`, Conditions{NoneMatch: lines(`"a"`)}, 304, 412},
		{"If-None-Match is weak", `"a"`, Conditions{NoneMatch: lines(`W/"a"`)}, 304, 412},
		{"If-None-Match of a weak tag", `W/"a"`, Conditions{NoneMatch: lines(`"a"`)}, 304, 412},
		{"If-None-Match, any", "", Conditions{NoneMatch: lines("*")}, 304, 412},
		{"If-None-Match, another", `"a"`, Conditions{NoneMatch: lines(`"b"`)}, 0, 0},
		{"If-None-Match without a tag", "", Conditions{NoneMatch: lines(`"a"`)}, 0, 0},
		{"If-None-Match comes before the date", `"a"`, Conditions{NoneMatch: lines(`"b"`), ModifiedSince: at}, 0, 0},
		{"If-Match comes before If-None-Match", `"a"`, Conditions{Match: lines(`"b"`), NoneMatch: lines(`"a"`)}, 412, 412},

		{"If-Modified-Since", "", Conditions{ModifiedSince: at}, 304, 0},
		{"If-Modified-Since, later", "", Conditions{ModifiedSince: after}, 304, 0},
		{"If-Modified-Since, earlier", "", Conditions{ModifiedSince: before}, 0, 0},
		{"If-Modified-Since, no date", "", Conditions{ModifiedSince: noDate}, 0, 0},
	} {
		v := Validator{Modified: modified}
		if tc.tag != "" {
			v.Tag = []byte(tc.tag)
		}
		if got := v.Failed(&tc.conditions, true); got != tc.read {
			t.Errorf("%s, a method that reads: %d, want %d", tc.name, got, tc.read)
		}
		if got := v.Failed(&tc.conditions, false); got != tc.modified {
			t.Errorf("%s, a method that modifies: %d, want %d", tc.name, got, tc.modified)
		}
	}
	var unknown Validator
	if got := unknown.Failed(&Conditions{UnmodifiedSince: before, ModifiedSince: after}, true); got != 0 {
		t.Errorf("dates without a date to compare with: %d", got)
	}
}

func TestAllowsRange(t *testing.T) {
	for _, tc := range []struct {
		name    string
		tag     string
		coarse  bool
		ifRange [][]byte
		want    bool
	}{
		{"no If-Range", `"a"`, false, nil, true},
		{"the tag", `"a"`, false, lines(`"a"`), true},
		{"the tag and blanks", `"a"`, false, lines("\"a\" \t"), true},
		{"another tag", `"a"`, false, lines(`"b"`), false},
		{"a weak tag", `W/"a"`, false, lines(`W/"a"`), false},
		{"two tags", `"a"`, false, lines(`"a", "a"`), false},
		{"two lines", `"a"`, false, lines(`"a"`, `"a"`), false},
		{"the date", `"a"`, false, at, true},
		{"a later date", `"a"`, false, after, false},
		{"an earlier date", `"a"`, false, before, false},
		{"a date that does not tell codings apart", `"a"`, true, at, false},
		{"junk", `"a"`, false, noDate, false},
		{"nothing", `"a"`, false, lines(""), false},
	} {
		v := Validator{Tag: []byte(tc.tag), Modified: modified, Coarse: tc.coarse}
		if got := v.AllowsRange(tc.ifRange); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// A date is a strong validator two seconds after the modification.
func TestAllowsRangeOfADateThatIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := Validator{Modified: time.Now().UTC()}
		date := lines(v.Modified.Format("Mon, 02 Jan 2006 15:04:05 GMT"))
		for _, want := range []bool{false, false, true} {
			if got := v.AllowsRange(date); got != want {
				t.Errorf("after %v: %v, want %v", time.Since(v.Modified), got, want)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestFailedDoesNotAllocate(t *testing.T) {
	v := Validator{Tag: []byte(`"a"`), Modified: modified}
	c := Conditions{Match: lines(`"b", "a"`), NoneMatch: lines(`W/"b"`), ModifiedSince: at}
	if n := testing.AllocsPerRun(100, func() { v.Failed(&c, true); v.AllowsRange(at) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
