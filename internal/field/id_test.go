package field

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/ascii"
)

func TestHashIsPerfect(t *testing.T) {
	seen := map[uint32]ID{}
	for id := Unknown + 1; id < numIDs; id++ {
		if !ascii.IsToken(names[id]) {
			t.Errorf("ID %d has no name, or no token for one: %q", id, names[id])
			continue
		}
		if other, taken := seen[hash(names[id])]; taken {
			t.Errorf("%s and %s share a slot", id, other)
		}
		seen[hash(names[id])] = id
	}
}

func TestLookupIgnoresCase(t *testing.T) {
	for id := Unknown + 1; id < numIDs; id++ {
		for _, s := range []string{names[id], strings.ToLower(names[id]), strings.ToUpper(names[id])} {
			if got := Lookup(s); got != id {
				t.Errorf("Lookup(%q) = %v", s, got)
			}
		}
		if got := LookupExact([]byte(names[id])); got != id {
			t.Errorf("LookupExact(%q) = %v", names[id], got)
		}
	}
	for _, s := range []string{"", "X", "Hos", "Hosts", "H\rst", "Content\rLength", "Content_Length"} {
		if got := Lookup(s); got != Unknown {
			t.Errorf("Lookup(%q) = %v", s, got)
		}
		if got := LookupExact([]byte(s)); got != Unknown {
			t.Errorf("LookupExact(%q) = %v", s, got)
		}
	}
}
