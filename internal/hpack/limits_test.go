package hpack

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/field"
)

// Each limit, and one byte or field more.
func TestLimits(t *testing.T) {
	const get, ref = "82", "be"                          // :method: GET, which counts 42; the newest entry
	const ab, abLine = "0001 61 01 62", "a: b\n"         // which counts 34
	const stored, storedLine = "4001 61 01 62", "a: b\n" // the same with indexing
	const huffman, huffmanLine = "0081 1f 81 93", "a: d\n"
	for _, tt := range []struct {
		name   string
		lim    Limits
		in     string
		fields string
		excess *Error
		size   int64
	}{
		{"list, indexed", Limits{42, 9, 9}, get, ":method: GET\n", nil, 42},
		{"list, indexed, one more", Limits{41, 9, 9}, get, "", ErrListTooLarge, 42},
		{"list, literal", Limits{34, 9, 9}, ab, abLine, nil, 34},
		{"list, literal, one more", Limits{33, 9, 9}, ab, "", ErrListTooLarge, 34},
		{"list, Huffman", Limits{34, 9, 9}, huffman, huffmanLine, nil, 34},
		{"list, Huffman, one more", Limits{33, 9, 9}, huffman, "", ErrListTooLarge, 34},
		{"list, table", Limits{68, 9, 9}, stored + ref, storedLine + storedLine, nil, 68},
		{"list, table, one more", Limits{67, 9, 9}, stored + ref, storedLine, ErrListTooLarge, 68},
		{"list, second of three", Limits{42, 9, 9}, get + ab + get, ":method: GET\n", ErrListTooLarge, 118},
		{"no later field, although it would fit", Limits{75, 9, 9}, ab + get + ab, abLine, ErrListTooLarge, 110},
		{"list of nothing", Limits{0, 9, 9}, "", "", nil, 0},
		{"fields", Limits{999, 2, 9}, ab + get, abLine + ":method: GET\n", nil, 76},
		{"fields, one more", Limits{999, 1, 9}, ab + get, abLine, ErrTooManyFields, 76},
		{"fields, one more literal", Limits{999, 1, 9}, get + ab, ":method: GET\n", ErrTooManyFields, 76},
		{"name", Limits{999, 9, 3}, "0003 616263 00", "abc: \n", nil, 35},
		{"name, one more", Limits{999, 9, 2}, "0003 616263 00", "", ErrStringTooLong, 35},
		{"value", Limits{999, 9, 3}, "0001 61 03 616263", "a: abc\n", nil, 36},
		{"value, one more", Limits{999, 9, 2}, "0001 61 03 616263", "", ErrStringTooLong, 36},
		{"name in the static table", Limits{999, 9, 6}, get, "", ErrStringTooLong, 42},
		{"Huffman-coded value that grows", Limits{999, 9, 7}, "0001 61 85 0000000000", "", ErrStringTooLong, 41},
		{"later limit", Limits{34, 1, 9}, ab + ab, abLine, ErrListTooLarge, 68},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDecoder()
			fields, b := decodeAll(d, unhex(tt.in), &tt.lim)
			if fields != tt.fields || b.Excess() != errorOf(tt.excess) || b.Err() != nil || b.Size() != tt.size {
				t.Errorf("got %q, %v, %v, size %d, want %q, %v, size %d", fields, b.Excess(), b.Err(), b.Size(), tt.fields, tt.excess, tt.size)
			}
			if last, _ := decodeAll(d, unhex("82"), &generous); last != ":method: GET\n" {
				t.Errorf("the next block becomes %q", last)
			}
		})
	}
}

// A name longer than a field.List can hold is too long, whatever the limits are.
func TestLongestName(t *testing.T) {
	for n, want := range map[int]*Error{field.MaxNameLen: nil, field.MaxNameLen + 1: ErrStringTooLong} {
		in := append(appendString([]byte{0}, strings.Repeat("n", n), true), 0)
		if _, b := decodeAll(newDecoder(), in, &generous); b.Excess() != errorOf(want) || b.Err() != nil {
			t.Errorf("%d: %v, %v", n, b.Excess(), b.Err())
		}
	}
}

// Beyond a limit, and in a discarded block, fields still go into the table, and errors are still found.
func TestTableSurvivesExcess(t *testing.T) {
	large := "4001 61" + "7f e119" + strings.Repeat("61", 3424) // value of 3424 bytes
	for _, tt := range []struct {
		name, in, table string
		err             *Error
	}{
		{"small entries", "4001 61 01 62 4001 63 01 64", "c: d\na: b\n68", nil},
		{"Huffman", "4081 1f 81 93", "a: d\n34", nil},
		{"large entry", large, "a: " + strings.Repeat("a", 3424) + "\n3457", nil},
		{"entry larger than the table", "4001 61 01 62 4001 61 7f 81 20" + strings.Repeat("61", 4224), "0", nil},
		{"Huffman-coded entry larger than the table", "4001 61 01 62 4001 61 ff 81 13" + strings.Repeat("00", 2560), "0", nil},
		{"nothing stored", "0001 61 01 62 1001 61 01 62", "0", nil},
		{"name from the table", "4001 61 01 62 7e 01 63", "a: c\na: b\n68", nil},
		{"name from the static table", "5f 01 61", "content-type: a\n45", nil},
		{"pseudo-field", "44 02 2f61", ":path: /a\n39", nil},
		{"name and value from the table", "4001 61 01 62 be 0f 2f 00", "a: b\n34", nil},
		{"Huffman error", "0001 61 81 18", "0", ErrHuffmanPadding},
		{"index", "be", "0", ErrIndex},
		{"cut", "0001 61 05", "0", ErrTruncated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, discard := range []bool{false, true} {
				d, b := newDecoder(), Block{}
				d.Start(&b, unhex(tt.in), &Limits{List: 10})
				if discard {
					b.Discard()
				} else if b.Next() {
					t.Error("a field beyond the limit")
				}
				if got := tableOf(&d.table); got != tt.table || b.Err() != errorOf(tt.err) || b.Next() {
					t.Errorf("discard %v: %v, table\n%s\nwant %v\n%s", discard, b.Err(), got, tt.err, tt.table)
				}
				if len(b.Out) != 0 && b.Err() == nil {
					t.Errorf("Out has %d bytes", len(b.Out))
				}
				if discard && b.Excess() != nil {
					t.Errorf("discarded block exceeds %v", b.Excess())
				}
			}
		})
	}
}

// One large entry and thousands of references to it: what exceeds the limit is counted and not stored.
func TestManyReferences(t *testing.T) {
	d, b := newDecoder(), Block{}
	decodeAll(d, unhex("4001 61 7f e119"+strings.Repeat("61", 3424)), &generous)
	d.Start(&b, []byte(strings.Repeat("\xbe", 64<<10)), &Limits{List: 64 << 10, Fields: 256, String: 64 << 10})
	n := 0
	for b.Next() {
		n++
	}
	if n != 18 || b.Excess() != ErrListTooLarge || b.Size() != 64<<10*3457 || cap(b.Out) > 128<<10 {
		t.Errorf("%d fields, %v, size %d, %d bytes", n, b.Excess(), b.Size(), cap(b.Out))
	}
}

// Decoding ends as soon as the list is larger than MaxSize, and not before.
func TestMaxSize(t *testing.T) {
	const lines = 1000
	size := int64(lines * len(":method"+"GET"))
	size += lines * FieldOverhead
	for _, tt := range []struct {
		most  int64
		err   *Error
		count int
	}{
		{0, nil, lines},
		{size, nil, lines},
		{size - 1, ErrListFarTooLarge, lines},
		{419, ErrListFarTooLarge, 10},
		{420, ErrListFarTooLarge, 11},
	} {
		for _, discard := range []bool{false, true} {
			d, b := newDecoder(), Block{MaxSize: tt.most}
			d.Start(&b, []byte(strings.Repeat("\x82", lines)), &Limits{List: 100, Fields: 256, String: 100})
			for !discard && b.Next() {
			}
			if _ = b.Discard(); b.Err() != errorOf(tt.err) || b.Count() != tt.count {
				t.Errorf("at most %d: %v after %d fields, want %v after %d", tt.most, b.Err(), b.Count(), tt.err, tt.count)
			}
		}
	}
}

// A block that is discarded after some of its fields.
func TestDiscardTheRest(t *testing.T) {
	d, b := newDecoder(), Block{Out: []byte("before")}
	d.Start(&b, unhex("82 4001 61 01 62 83"), &generous)
	if !b.Next() || lineOf(&b) != ":method: GET\n" || b.Discard() != nil || b.Next() || string(b.Out) != "beforeGET" {
		t.Errorf("%q, %v", b.Out, b.Err())
	}
	if tableOf(&d.table) != "a: b\n34" {
		t.Error(tableOf(&d.table))
	}
}

// The name and the value of a field share the room that is left.
func TestRoomIsShared(t *testing.T) {
	in := appendString(appendString([]byte{0}, strings.Repeat("n", 900), false), strings.Repeat("v", 900), false)
	d, b := newDecoder(), Block{Out: make([]byte, 0, 1000)}
	d.Start(&b, in, &Limits{List: 1000, Fields: 9, String: 1000})
	if b.Next() || b.Excess() != ErrListTooLarge || cap(b.Out) != 1000 {
		t.Errorf("%v, Out has room for %d bytes", b.Excess(), cap(b.Out))
	}
}
