package field

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func dump(l *List) string {
	var b strings.Builder
	for i := range l.Len() {
		n, v := l.At(i)
		fmt.Fprintf(&b, "%s=%s;", n, v)
	}
	return b.String()
}

// model is a slow and obvious List.
type model [][2]string

func (m *model) set(n, v string) {
	for i, f := range *m {
		if strings.EqualFold(f[0], n) {
			(*m)[i] = [2]string{n, v}
			rest := append(model(nil), (*m)[i+1:]...)
			rest.del(n)
			*m = append((*m)[:i+1], rest...)
			return
		}
	}
	*m = append(*m, [2]string{n, v})
}

func (m *model) del(n string) {
	var out model
	for _, f := range *m {
		if !strings.EqualFold(f[0], n) {
			out = append(out, f)
		}
	}
	*m = out
}

func (m model) dump() string {
	var b strings.Builder
	for _, f := range m {
		fmt.Fprintf(&b, "%s=%s;", f[0], f[1])
	}
	return b.String()
}

func TestListAgreesWithTheObviousOne(t *testing.T) {
	names := []string{"Host", "host", "X-A", "x-a", "Cookie", "X-B", "Content-Type", "ETag", "etag"}
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 2000 {
		var l List
		var m model
		if round%2 == 0 { // start with borrowed bytes
			b := []byte("Hostvalue")
			l.Borrow(b)
			l.AppendSpan(Host, 0, 4, 4, 9)
			m = append(m, [2]string{"Host", "value"})
		}
		kept := Store(&l, "kept")
		for step := range 20 {
			n := names[r.IntN(len(names))]
			v := fmt.Sprint(step)
			switch r.IntN(5) {
			case 0, 1:
				Add(&l, Lookup(n), n, v)
				m = append(m, [2]string{n, v})
			case 2:
				Set(&l, Lookup(n), n, v)
				m.set(n, v)
			case 3:
				Del(&l, Lookup(n), n)
				m.del(n)
			case 4:
				l.Compact(&kept)
			}
			if string(l.Bytes(kept)) != "kept" {
				t.Fatalf("the span shows %q", l.Bytes(kept))
			}
			if dump(&l) != m.dump() {
				t.Fatalf("got  %s\nwant %s", dump(&l), m.dump())
			}
			for _, n := range names {
				want := -1
				for i, f := range m {
					if strings.EqualFold(f[0], n) {
						want = i
						break
					}
				}
				if got := Find(&l, Lookup(n), n); got != want {
					t.Fatalf("Find(%s) = %d, want %d in %s", n, got, want, dump(&l))
				}
			}
		}
		var c List
		l.CopyTo(&c)
		if dump(&c) != dump(&l) {
			t.Fatalf("copy %s of %s", dump(&c), dump(&l))
		}
	}
}

func TestViewsOutliveChanges(t *testing.T) {
	var l List
	Add(&l, Unknown, "X-A", "first")
	view := l.Value(0)
	Set(&l, Unknown, "X-A", "other")
	for range 100 {
		Add(&l, Unknown, "X-B", view) // a view of the list is a valid argument
	}
	if string(view) != "first" {
		t.Errorf("the view became %q", view)
	}
	if _, v := l.At(100); string(v) != "first" {
		t.Errorf("the last field is %q", v)
	}
}

func TestCompactLetsGo(t *testing.T) {
	var l List
	s := Store(&l, "/first")
	for range 1000 {
		Set(&l, Host, "Host", "example.org")
	}
	view := l.Value(0)
	l.Compact(&s)
	if want := len("HostExample.org/first"); l.Size() != want {
		t.Errorf("%d bytes, want %d", l.Size(), want)
	}
	Set(&l, Host, "Host", "other")
	if string(view) != "example.org" || string(l.Bytes(s)) != "/first" || dump(&l) != "Host=other;" {
		t.Errorf("view %q, span %q, %s", view, l.Bytes(s), dump(&l))
	}
}

func TestListBeyondTheIndex(t *testing.T) {
	var l List
	for range 1 << 16 {
		Add(&l, Unknown, "x", "")
	}
	Add(&l, Host, "Host", "h")
	if i := l.FindID(Host); i != 1<<16 {
		t.Errorf("found at %d", i)
	}
	Del(&l, Unknown, "X")
	if l.Len() != 1 || l.FindID(Host) != 0 {
		t.Errorf("%d fields, Host at %d", l.Len(), l.FindID(Host))
	}
}

func TestListReusesItsStorage(t *testing.T) {
	var l List
	n := testing.AllocsPerRun(100, func() {
		l.Reset()
		for range 20 {
			Add(&l, Unknown, "X-Name", "some value")
		}
		Set(&l, Host, "Host", "example.org")
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"Host", "X-A", "X-B", "ETag", "Vary"}
	lender := []byte("lent: 1\r\n")
	whole := 0
	for range 20000 {
		var l List
		for range r.IntN(8) {
			name := names[r.IntN(len(names))]
			switch id := Lookup(name); r.IntN(12) {
			case 0:
				Set(&l, id, name, "set")
			case 1:
				Del(&l, id, name)
			case 2:
				Store(&l, "stored")
			case 3:
				l.Reset()
			case 4:
				l.Borrow(lender)
				l.AppendSpan(Unknown, 0, 4, 6, 7)
			case 5:
				if l.Len() > 0 {
					SetValueAt(&l, 0, []string{"", "at"}[r.IntN(2)])
				}
			case 6:
				if l.Len() > 0 {
					l.DelAt(0)
				}
			case 7:
				l.Compact()
			case 8:
				var other List
				l.CopyTo(&other)
				l = other
			default:
				Add(&l, id, name, "added")
			}
		}
		var want []byte
		for i := range l.Len() {
			name, value := l.At(i)
			want = append(want, string(name)+": "+string(value)+"\r\n"...)
			if id := l.ID(i); l.HasNone(1 << id) {
				t.Fatalf("%v is in %s", id, dump(&l))
			}
		}
		lines, ok := l.Lines()
		if ok && string(lines) != string(want) {
			t.Fatalf("%q, want %q", lines, want)
		}
		if ok && len(want) > 0 {
			whole++
		}
	}
	if whole < 1000 {
		t.Errorf("only %d lists were stored as lines", whole)
	}
}

// AddAll gives the same list as adding one field after the other, or does nothing.
func TestAddAllAgreesWithAdd(t *testing.T) {
	names := []string{"Server", "X-A", "x-a", "X-B", "Content-Type", "ETag", "Priority", "X-Frame-Options", "Link", "link"}
	r := rand.New(rand.NewPCG(5, 6))
	added, refused := 0, 0
	for round := range 5000 {
		var l, want, from List
		if round%3 == 0 {
			b := []byte("Hostvalue")
			for _, to := range []*List{&l, &want} {
				to.Borrow(b)
				to.AppendSpan(Lookup("Host"), 0, 4, 4, 9)
			}
		}
		for range r.IntN(4) {
			n := names[r.IntN(len(names))]
			Add(&l, Lookup(n), n, "first")
			Add(&want, Lookup(n), n, "first")
			if r.IntN(4) == 0 {
				Del(&l, Lookup(n), n)
				Del(&want, Lookup(n), n)
			}
		}
		shared := false
		for i := range r.IntN(5) {
			n := names[r.IntN(len(names))]
			shared = shared || Find(&l, Lookup(n), n) >= 0
			Add(&from, Lookup(n), n, fmt.Sprint("second", i))
		}
		before, wasFrom := dump(&l), dump(&from)
		if done := l.AddAll(&from); done == shared {
			t.Fatalf("%s and %s: AddAll reports %v", before, wasFrom, done)
		} else if !done {
			refused++
			if dump(&l) != before {
				t.Fatalf("%s became %s", before, dump(&l))
			}
			continue
		}
		added++
		for i := range from.Len() {
			n, v := from.At(i)
			Add(&want, from.ID(i), n, v)
		}
		for _, n := range names {
			if got, expected := Find(&l, Lookup(n), n), Find(&want, Lookup(n), n); got != expected {
				t.Fatalf("%s and %s: %s is at %d instead of %d", before, wasFrom, n, got, expected)
			}
		}
		lines, ok := l.Lines()
		wantLines, wantOK := want.Lines()
		if dump(&l) != dump(&want) || ok != wantOK || ok && string(lines) != string(wantLines) || dump(&from) != wasFrom || l.MayRepeat() != want.MayRepeat() {
			t.Fatalf("%s and %s: %s instead of %s; lines %q instead of %q", before, wasFrom, dump(&l), dump(&want), lines, wantLines)
		}
	}
	if added < 500 || refused < 500 {
		t.Errorf("%d added, %d refused", added, refused)
	}
}

func TestAddAllNeedsLines(t *testing.T) {
	var l, from List
	Add(&from, Lookup("X-A"), "X-A", "1")
	Set(&from, Lookup("X-A"), "X-A", "2")
	if l.AddAll(&from) || l.Len() != 0 {
		t.Errorf("%s", dump(&l))
	}
}
