package list

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type item struct {
	id   int
	node Node[item]
}

// contents returns the elements of l from the first to the last. It fails if the links that lead backwards, or the
// length, say something else.
func contents(t *testing.T, l *List[item]) (items []*item) {
	t.Helper()
	for i := l.First(); i != nil; i = i.node.Next() {
		items = append(items, i)
	}
	var backwards []*item
	for n := l.last; n != nil; n = n.prev {
		backwards = append(backwards, n.owner)
	}
	slices.Reverse(backwards)
	if !slices.Equal(items, backwards) {
		t.Fatalf("forwards %v, backwards %v", ids(items), ids(backwards))
	}
	if l.Len() != len(items) {
		t.Fatalf("Len is %d, the elements are %v", l.Len(), ids(items))
	}
	return items
}

func ids(items []*item) (ids []int) {
	for _, i := range items {
		ids = append(ids, i.id)
	}
	return ids
}

func TestList(t *testing.T) {
	first := func(l *List[item], _ []item) *item { return l.PopFirst() }
	last := func(l *List[item], _ []item) *item { return l.PopLast() }
	remove := func(id int) func(*List[item], []item) *item {
		return func(l *List[item], items []item) *item {
			if !l.Remove(&items[id].node) {
				return nil
			}
			return &items[id]
		}
	}
	for _, tc := range []struct {
		name    string
		n       int // elements, numbered from 0
		do      func(*List[item], []item) *item
		removed int // the number of the element; -1 is none
		left    []int
	}{
		{"the first of none", 0, first, -1, nil},
		{"the last of none", 0, last, -1, nil},
		{"the first of one", 1, first, 0, nil},
		{"the last of one", 1, last, 0, nil},
		{"the only one", 1, remove(0), 0, nil},
		{"the first of three", 3, first, 0, []int{1, 2}},
		{"the last of three", 3, last, 2, []int{0, 1}},
		{"the first of three, by its node", 3, remove(0), 0, []int{1, 2}},
		{"one in the middle", 3, remove(1), 1, []int{0, 2}},
		{"the last of three, by its node", 3, remove(2), 2, []int{0, 1}},
		{"one that was removed before", 3, func(l *List[item], items []item) *item {
			remove(1)(l, items)
			return remove(1)(l, items)
		}, -1, []int{0, 2}},
		{"one that comes back", 3, func(l *List[item], items []item) *item {
			i := l.PopFirst()
			l.Push(&i.node, i)
			return l.PopFirst()
		}, 1, []int{2, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var l List[item]
			items := make([]item, tc.n)
			for id := range items {
				items[id].id = id
				l.Push(&items[id].node, &items[id])
			}
			removed := -1
			if i := tc.do(&l, items); i != nil {
				if removed = i.id; i.node != (Node[item]{}) {
					t.Errorf("the removed element has links: %+v", i.node)
				}
			}
			if got := ids(contents(t, &l)); removed != tc.removed || !slices.Equal(got, tc.left) {
				t.Errorf("removed %d, left %v, want %d and %v", removed, got, tc.removed, tc.left)
			}
		})
	}
}

// Random operations have the same results on a List and on a slice.
func TestListIsLikeASlice(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var l List[item]
	var want []*item
	items := make([]item, 8)
	for id := range items {
		items[id].id = id
	}
	for step := range 10_000 {
		i := &items[rnd.IntN(len(items))]
		at := slices.Index(want, i)
		switch rnd.IntN(5) {
		case 0, 1:
			if at < 0 {
				l.Push(&i.node, i)
				want = append(want, i)
			}
		case 2:
			if removed := l.Remove(&i.node); removed != (at >= 0) {
				t.Fatalf("step %d: Remove reports %v for an element at %d", step, removed, at)
			}
			if at >= 0 {
				want = slices.Delete(want, at, at+1)
			}
		case 3:
			if first := l.PopFirst(); first != nil {
				if first != want[0] {
					t.Fatalf("step %d: the first is %d, want %d", step, first.id, want[0].id)
				}
				want = want[1:]
			}
		case 4:
			if last := l.PopLast(); last != nil {
				if last != want[len(want)-1] {
					t.Fatalf("step %d: the last is %d, want %d", step, last.id, want[len(want)-1].id)
				}
				want = want[:len(want)-1]
			}
		}
		if got := contents(t, &l); !slices.Equal(got, want) {
			t.Fatalf("step %d: got %v, want %v", step, ids(got), ids(want))
		}
	}
}

func TestListAllocatesNothing(t *testing.T) {
	var l List[item]
	var a, b item
	allocs := testing.AllocsPerRun(100, func() {
		l.Push(&a.node, &a)
		l.Push(&b.node, &b)
		l.Remove(&a.node)
		l.PopLast()
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
