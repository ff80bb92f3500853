package gallop

import (
	"fmt"
	"log"
	"strings"
	"testing"
)

// A name that a setter refuses is logged once, and no more than maxRefusedNames are.
func TestRefusedNamesAreLoggedOnce(t *testing.T) {
	was, seen := defaultLogger, refusedNames.seen
	defer func() { defaultLogger, refusedNames.seen = was, seen }()
	var out strings.Builder
	defaultLogger, refusedNames.seen = log.New(&out, "", 0), nil

	var req RequestHeader
	var resp ResponseHeader
	long := strings.Repeat("é", 1000)
	for range 3 {
		req.Set("a b", "1")
		req.Add("a b", "1")
		req.SetBytesKV([]byte("a b"), []byte("1"))
		resp.Set("a b", "1")
		resp.Set("", "1")
		resp.Set("x\r\ny", "1")
		resp.Set(long, "1")
		resp.Set("fine", "a value\x00 that is cleaned")
	}
	if req.Len()+resp.Len() != 1 {
		t.Errorf("%d and %d fields", req.Len(), resp.Len())
	}
	want := []string{`"a b"`, `""`, `"x\r\ny"`, `"` + strings.Repeat("é", maxRefusedName/len("é")) + `"`}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) || !strings.Contains(line, "RFC 9110") {
			t.Errorf("%q, want %s", line, want[i])
		}
	}
	for i := range 10 * maxRefusedNames {
		resp.Set(fmt.Sprint("no name ", i), "1")
	}
	if n := strings.Count(out.String(), "\n"); n != maxRefusedNames {
		t.Errorf("%d lines", n)
	}
}
