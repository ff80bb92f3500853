package rest

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/codec"
)

func FuzzLink(f *testing.F) {
	for _, s := range []string{`<a>; rel="next", <b>; rel=last`, `<a;b,c>;x="\"",;rel=next`, `,,<`, `<a>;rel`, `junk,<a>;rel=x`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := 0
		for l := range linksIn(s) {
			if n++; n > len(s) {
				t.Fatal("there are more links than bytes")
			}
			if !strings.Contains(s, "<"+l.target+">") || strings.TrimSpace(l.rels) == "" {
				t.Errorf("%q: %+v", s, l)
			}
		}
	})
}

func FuzzRate(f *testing.F) {
	for _, s := range []string{`"a";r=1;t=2, "b";r=0;t=1`, "limit=1, remaining=0, reset=5", "99999999999999999999", "-1", "12.5", "Sun, 06 Nov 1994 08:49:37 GMT", "0"} {
		f.Add(s)
	}
	now := time.Unix(1e9, 0)
	f.Fuzz(func(t *testing.T, s string) {
		var h fields
		for _, name := range []string{"RateLimit", "Retry-After", "X-RateLimit-Remaining", "X-RateLimit-Limit", "X-RateLimit-Reset"} {
			h.add(name, s, foldName)
		}
		r := rateOf(&h, now)
		if r.Remaining < 0 || r.Limit < 0 || !r.Known() && r != (Rate{}) {
			t.Errorf("%q: %+v", s, r)
		}
		if d := retryAfter(&h, now); d < -1 {
			t.Errorf("%q: %v", s, d)
		}
	})
}

// A path never leads above the base, and is what a server reads out of it.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"a/{x}", "{x...}", "../a", "a%2e./b", "http://other.test/a", "//a", "{x", "a?b#c", ":", "a/.{x}"} {
		f.Add(s, "v/../w")
		f.Add(s, "..")
	}
	base, err := parseBase("https://api.test/v1/")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path, value string) {
		var params fields
		params.set("x", value, sameName)
		to, err := base.resolve(path, &params, nil)
		if err != nil {
			return
		}
		u, err := url.Parse(to.String())
		if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
			t.Fatalf("%q with %q: %q, %v", path, value, to.String(), err)
		}
		if origin, err := originOf(u); err != nil || origin != to.origin {
			t.Fatalf("%q with %q: %q is of %q, %v", path, value, to.String(), origin, err)
		}
		for _, segment := range strings.Split(u.Path, "/") {
			if segment == ".." {
				t.Fatalf("%q with %q: %q climbs", path, value, to.String())
			}
		}
		if to.origin == base.origin && !strings.Contains(path, "//") && !strings.HasPrefix(u.Path, "/v1/") {
			t.Fatalf("%q with %q: %q is not below the base", path, value, to.String())
		}
		if strings.ContainsAny(to.String(), " \r\n\t\x00") {
			t.Fatalf("%q", to.String())
		}
	})
}

// Decoding, whole or as a stream, makes what encoding/json makes.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":null}]}`, `[1,"x",{}]`, `[{"n":1},{"n":"x"},{"s":"y"}]`, `null`, ` [ ] `, `[1`, `[1,]`, "1 2", `"\ud800"`, "[\"\xff\"]"} {
		f.Add(s)
	}
	type element struct {
		N int
		S string
		L []element
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, v := range []any{new(any), new([]any), new([]element), new(map[string]element), new(string)} {
			want := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			wantErr := json.Unmarshal([]byte(s), want)
			strict := codec.JSON{}
			if err := strict.Decode([]byte(s), v); (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(v, want) {
				t.Fatalf("%q: %v %v, want %v %v", s, v, err, want, wantErr)
			}
			streamed := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			if err := strict.DecodeFrom(strings.NewReader(s), streamed); (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(streamed, want) {
				t.Fatalf("streamed %q: %v %v, want %v %v", s, streamed, err, want, wantErr)
			}
		}
	})
}

func FuzzAPIError(f *testing.F) {
	f.Add([]byte(`{"error":{"message":1,"errors":[{"a":1}]},"errors":["x",{"field":[]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e := APIError{Body: body}
		e.read()
		_ = e.Error()
	})
}

func FuzzCacheControl(f *testing.F) {
	for _, s := range []string{`max-age=60, no-cache="a, b"`, "no-store", `=,;="`, "MAX-AGE=\"5\", max-age=6", "max-age=-1", "max-age=99999999999999999999", `x="\`} {
		f.Add(s, "accept, *")
	}
	f.Fuzz(func(t *testing.T, s, vary string) {
		for name, value := range directives([]string{s}) {
			if name == "" || name != strings.ToLower(name) || !strings.Contains(strings.ToLower(s), name) {
				t.Errorf("%q: %q=%q", s, name, value)
			}
		}
		if d, ok := directives([]string{s}).seconds("max-age"); d < 0 || ok && d > 1e9*time.Second {
			t.Errorf("%q: max-age %v", s, d)
		}
		now := time.Now()
		var h fields
		for name, value := range map[string]string{"Cache-Control": s, "Vary": vary, "Age": s, "Date": vary, "Expires": s, "ETag": `"x"`} {
			h.add(name, value, foldName)
		}
		kept := newStored(&exchange{}, h, now, now)
		switch {
		case kept == nil:
		case strings.EqualFold(strings.TrimSpace(s), "no-store") || strings.TrimSpace(vary) == "*":
			t.Errorf("%q, %q: is kept", s, vary)
		case kept.fresh < 0 || kept.born.After(now):
			t.Errorf("%q: fresh for %v, born %v", s, kept.fresh, kept.born)
		}
	})
}
