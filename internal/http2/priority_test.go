package http2

import "testing"

// RFC 9218 §4, RFC 8941.
func TestParsePriority(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Priority
		ok   bool
	}{
		{"", Priority{3, false}, true},
		{"u=0", Priority{0, false}, true},
		{"u=7, i", Priority{7, true}, true},
		{"i", Priority{3, true}, true},
		{"i=?1", Priority{3, true}, true},
		{"i=?0", Priority{3, false}, true},
		{" u=1 ", Priority{1, false}, true},
		{"u=1,i", Priority{1, true}, true},
		{"u=1\t, \ti", Priority{1, true}, true},
		{"u=1, u=2", Priority{2, false}, true},
		{"u=1, u=foo", Priority{3, false}, true}, // the last value counts, and is ignored
		{"u=1, u=8", Priority{3, false}, true},
		{"u=foo, u=1", Priority{1, false}, true},
		{"i, i=5", Priority{3, false}, true},
		{"i=5, i", Priority{3, true}, true},
		{"u=8", Priority{3, false}, true},
		{"u=-1", Priority{3, false}, true},
		{"u=1.5", Priority{3, false}, true},
		{"u=\"1\"", Priority{3, false}, true},
		{"u", Priority{3, false}, true},
		{"i=1", Priority{3, false}, true},
		{"u=2;a=b;c, i;d", Priority{2, true}, true},
		{"x=\"a, \\\" b\", u=2", Priority{2, false}, true},
		{"x=(1 2 3);q, u=2", Priority{2, false}, true},
		{"x=:YQ==:, *a_-.1=?1, u=2", Priority{2, false}, true},
		{"ux=1", Priority{3, false}, true},
		{"u=1,", Priority{1, false}, false},
		{"u=1 i", Priority{1, false}, false},
		{"u=, i", Priority{3, false}, false},
		{"U=1", Priority{3, false}, false},
		{"=1", Priority{3, false}, false},
		{"x=\"abc", Priority{3, false}, false},
		{"x=(1", Priority{3, false}, false},
		{"u=1;", Priority{1, false}, false},
	} {
		p, ok := ParsePriority(tt.in)
		if ok != tt.ok || ok && p != tt.want {
			t.Errorf("%q: %v, %v, want %v, %v", tt.in, p, ok, tt.want, tt.ok)
		}
	}
}

func TestAppendPriority(t *testing.T) {
	for u := range uint8(urgencies) {
		for _, i := range []bool{false, true} {
			p := Priority{u, i}
			text := string(p.Append(nil))
			if got, ok := ParsePriority(text); !ok || got != p {
				t.Errorf("%v is %q, which is %v, %v", p, text, got, ok)
			}
			frames := describe(t, appendPriorityUpdate(nil, 5, p))
			if want := "PRIORITY_UPDATE 5 " + text; frames[0] != want {
				t.Errorf("got %q, want %q", frames[0], want)
			}
		}
	}
}

func FuzzParsePriority(f *testing.F) {
	f.Add("u=1, i;a=\"\\\"\"")
	f.Fuzz(func(t *testing.T, in string) {
		p, ok := ParsePriority(in)
		if again, okAgain := ParsePriority([]byte(in)); again != p || okAgain != ok || p.Urgency >= urgencies {
			t.Errorf("%q: %v, %v, and %v, %v", in, p, ok, again, okAgain)
		}
	})
}
