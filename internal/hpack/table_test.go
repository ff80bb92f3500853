package hpack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// modelTable is a slow and obvious dynamic table.
type modelTable struct {
	entries []string // from the newest to the oldest, as name and value with ": " between
	max     int
}

func (m *modelTable) add(name, value string) {
	m.entries = append([]string{name + ": " + value}, m.entries...)
	m.evict()
}

func (m *modelTable) size() (n int) {
	for _, e := range m.entries {
		n += len(e) - len(": ") + FieldOverhead
	}
	return n
}

func (m *modelTable) evict() {
	for m.size() > m.max {
		m.entries = m.entries[:len(m.entries)-1]
	}
}

func (m *modelTable) String() string {
	return strings.Join(append(m.entries, fmt.Sprint(m.size())), "\n")
}

func TestTableAgreesWithTheObviousOne(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for round := range 60 {
		var table table
		var model modelTable
		table.end, table.added = -uint32(r.IntN(3000)), -uint32(r.IntN(50)) // both wrap around soon
		model.max = 100 + r.IntN(5000)
		table.setMax(model.max)
		largest := model.max
		for range 200 {
			if r.IntN(40) == 0 {
				model.max = r.IntN(1 + 1000*r.IntN(6))
				model.evict()
				table.setMax(model.max)
				largest = max(largest, model.max)
			}
			name, value := strings.Repeat("n", r.IntN(1+r.IntN(60))), strings.Repeat(fmt.Sprint(r.IntN(10)), r.IntN(1+r.IntN(300)))
			model.add(name, value)
			if table.fits(len(name), len(value)) {
				add(&table, name, []byte(value), entry{})
			} else {
				table.clear()
			}
			if got, want := tableOf(&table), model.String(); got != want {
				t.Fatalf("round %d: got\n%s\nwant\n%s", round, got, want)
			}
			if n := len(table.text); n > 2*max(largest, firstText) || n&(n-1) != 0 || model.max == 0 && n > 0 {
				t.Fatalf("round %d: %d bytes for a table of %d", round, n, largest)
			}
		}
	}
}

// hasText finds text that wraps around the end of the ring, and notices each differing byte.
func TestHasTextWraps(t *testing.T) {
	var table table
	table.setMax(DefaultTableSize)
	table.end = firstText - 5
	add(&table, "name", "value", entry{})
	e := table.at(0)
	if !hasText(&table, e.start, "name") || !hasText(&table, e.start, "namevalue") || !hasText(&table, e.valueStart(), []byte("value")) {
		t.Errorf("%q", table.text)
	}
	for i := range "namevalue" {
		other := []byte("namevalue")
		other[i] ^= 1
		if hasText(&table, e.start, other) {
			t.Errorf("%q is found", other)
		}
	}
}

// The table keeps no byte of its caller.
func TestTableCopies(t *testing.T) {
	d, e := newDecoder(), newEncoder(DefaultTableSize)
	in := unhex("4001 61 01 62")
	_, b := decodeAll(d, in, &generous)
	value := []byte("text/html")
	Append(e, nil, 5, "Content-Type", value)
	for _, bytes := range [][]byte{in, b.Out, value} {
		clear(bytes)
	}
	if tableOf(&d.table) != "a: b\n34" || !strings.HasPrefix(tableOf(&e.table), "content-type: text/html\n") {
		t.Errorf("%s, %s", tableOf(&d.table), tableOf(&e.table))
	}
}

// Memory that an idle connection holds after usual messages, and after a peer has filled the table.
func TestTableMemory(t *testing.T) {
	memory := func(t *table) int { return len(t.text) + 12*len(t.entries) }
	e := newEncoder(DefaultTableSize)
	encodeAll(e, ":status: 200\ncontent-type: text/plain; charset=utf-8\nserver: gallop\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n")
	if n := memory(&e.table); n > 512 {
		t.Errorf("the encoder holds %d bytes", n)
	}
	d := newDecoder()
	decodeAll(d, bytes.Repeat(unhex("4000 00"), 1000), &generous)
	if n := memory(&d.table); n > 8<<10 {
		t.Errorf("small entries take %d bytes", n)
	}
	d = newDecoder()
	decodeAll(d, bytes.Repeat(unhex("4001 61 01 62"), 1000), &generous)
	decodeAll(d, []byte("\x40\x01a\x7f\xd9\x1e"+strings.Repeat("v", 4000)), &generous)
	if n := memory(&d.table); n > 8<<10 {
		t.Errorf("entries of all sizes take %d bytes", n)
	}
}
