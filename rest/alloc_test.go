package rest_test

import (
	"testing"

	"github.com/gallop-http/gallop/rest"
)

// What a call costs beside its value: request, exchange, URL, the fields both ways, the answer and its body.
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
	if allocs > 20 {
		t.Errorf("%v allocations", allocs)
	}
}
