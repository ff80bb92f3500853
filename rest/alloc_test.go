package rest_test

import (
	"testing"

	"github.com/gallop-http/gallop/rest"
)

// A call allocates these beside its value: request, exchange, URL, the fields in both directions, the response and
// its body.
func TestCallAllocations(t *testing.T) {
	if rest.RaceEnabled {
		t.Skip("race builds allocate more")
	}
	a := serve(t, text(200, "7", "X-RateLimit-Remaining: 9", "X-RateLimit-Reset: 60"))
	c := a.client()
	var n int
	allocs := testing.AllocsPerRun(200, func() {
		r, err := c.NewRequest(t.Context(), "GET", "issues", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Do(r, &n); err != nil || n != 7 {
			t.Fatal(n, err)
		}
	})
	t.Logf("%v allocations", allocs)
	if allocs > 18 {
		t.Errorf("%v allocations", allocs)
	}
}

// credentialCases are the fields of requests as most are, and as some.
var credentialCases = []struct {
	name   string
	fields []string
	allocs float64 // to tell who asks
}{
	{"nobody", nil, 0},
	{"harmless fields", []string{"Accept-Language", "If-None-Match", "X-Request-Id", "Idempotency-Key"}, 0},
	{"a key", []string{"X-Api-Key"}, 3}, // a text in lower case, what is hashed, and its hash
	{"a key and a token", []string{"X-Api-Key", "Authorization"}, 4},
}

// credentialOf returns what a request with the fields tells who asks by.
func credentialOf(t testing.TB, names []string) func() string {
	t.Helper()
	c, err := rest.New("http://api.test/")
	if err != nil {
		t.Fatal(err)
	}
	r := c.Request().SetTarget("GET", "a")
	for _, name := range names {
		r.SetHeader(name, "Some-Value-Of-It")
	}
	tell, err := rest.CredentialOf(r)
	if err != nil {
		t.Fatal(err)
	}
	return tell
}

// Every call determines its credential, and a call without one must not pay for that.
func TestCredentialAllocations(t *testing.T) {
	if rest.RaceEnabled {
		t.Skip("race builds allocate more")
	}
	for _, tc := range credentialCases {
		tell := credentialOf(t, tc.fields)
		if allocs := testing.AllocsPerRun(100, func() { tell() }); allocs > tc.allocs {
			t.Errorf("%s: %v allocations, want %v", tc.name, allocs, tc.allocs)
		}
		if (tell() == "") != (tc.allocs == 0) {
			t.Errorf("%s: %q", tc.name, tell())
		}
	}
}

func BenchmarkCredential(b *testing.B) {
	for _, tc := range credentialCases {
		b.Run(tc.name, func(b *testing.B) {
			tell := credentialOf(b, tc.fields)
			b.ReportAllocs()
			for b.Loop() {
				tell()
			}
		})
	}
}
