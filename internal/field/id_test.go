package field

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/ascii"
)

func TestHashIsPerfect(t *testing.T) {
	seen := map[uint64]ID{}
	for id := Unknown + 1; id < numIDs; id++ {
		if !ascii.IsToken(names[id]) {
			t.Errorf("ID %d has no name, or no token for one: %q", id, names[id])
			continue
		}
		first, last := ends(names[id])
		h := hash(first, last, len(names[id]))
		if other, taken := seen[h]; taken {
			t.Errorf("%s and %s share a slot", id, other)
		}
		seen[h] = id
	}
}

func TestLookupIgnoresCase(t *testing.T) {
	for id := Unknown + 1; id < numIDs; id++ {
		for _, s := range []string{names[id], strings.ToLower(names[id]), strings.ToUpper(names[id])} {
			if got := Lookup(s); got != id {
				t.Errorf("Lookup(%q) = %v", s, got)
			}
		}
	}
	for id := Unknown + 1; id < numIDs; id++ { // one byte differs
		for i := range names[id] {
			s := []byte(names[id])
			s[i] ^= 0x01
			if got := Lookup(s); got != Unknown {
				t.Errorf("Lookup(%q) = %v", s, got)
			}
		}
	}
	for _, s := range []string{"", "X", "Hos", "Hosts", "H\rst", "Content\rLength", "Content_Length"} {
		if got := Lookup(s); got != Unknown {
			t.Errorf("Lookup(%q) = %v", s, got)
		}
	}
}

func TestLookupHeadAgreesWithLookup(t *testing.T) {
	behind := []byte(": value\r\nAnother-Name: another value, long enough\r\n")
	check := func(name []byte) {
		t.Helper()
		want := Lookup(name)
		if bytes.IndexByte(name, ':') >= 0 {
			want = Unknown
		}
		for _, room := range []int{1, 7, 20, 41, len(behind)} {
			b := append(bytes.Clone(name), behind[:room]...)
			got, n := LookupHead(b)
			if got != want || got != Unknown && n != len(name) {
				t.Errorf("%q before %d bytes: got %v, %d, want %v", name, room, got, n, want)
			}
		}
	}
	check(nil)
	check([]byte("X"))
	check([]byte("X-Something-That-Is-Longer-Than-All-The-Known-Ones"))
	for id := Unknown + 1; id < numIDs; id++ {
		name := []byte(names[id])
		if len(name) > maxKnown {
			t.Errorf("%s is longer than a pattern", name)
		}
		check(name)
		check(bytes.ToLower(name))
		check(bytes.ToUpper(name))
		check(name[:len(name)-1])
		check(append(bytes.Clone(name), 'x'))
		for i := range name {
			for bit := range 8 {
				other := bytes.Clone(name)
				other[i] ^= 1 << bit
				check(other)
			}
		}
	}
}

func TestLower(t *testing.T) {
	for id := Unknown; id < numIDs; id++ {
		if got, want := id.Lower(), strings.ToLower(id.String()); got != want {
			t.Errorf("%s in lower case is %q", want, got)
		}
	}
}
