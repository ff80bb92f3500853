package hpack

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
)

// generous are limits that no block of the tests exceeds, unless it wants to.
var generous = Limits{List: 1 << 20, Fields: 1 << 14, String: 1 << 20}

func newDecoder() *Decoder {
	d := new(Decoder)
	d.Init()
	return d
}

// unhex decodes hexadecimal digits, which may have blanks between them.
func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

// lineOf returns the current field as a line. An exclamation mark before it means that the field is sensitive.
func lineOf(b *Block) string {
	name := string(b.bytes(b.Name))
	if b.Pseudo != Regular {
		name = b.Pseudo.String()
	}
	if b.Pseudo == UnknownPseudo {
		name = ":?"
	}
	mark := ""
	if b.Sensitive {
		mark = "!"
	}
	return fmt.Sprintf("%s%s: %s\n", mark, name, b.bytes(b.Value))
}

// decodeAll decodes a block and returns its fields, a line each.
func decodeAll(d *Decoder, in []byte, lim *Limits) (fields string, b *Block) {
	b = new(Block)
	d.Start(b, in, lim)
	for b.Next() {
		fields += lineOf(b)
	}
	return fields, b
}

// tableOf returns the entries of a table, a line each from the newest to the oldest, and its size.
func tableOf(t *table) string {
	var s strings.Builder
	for age := 0; t.at(age) != nil; age++ {
		e := t.at(age)
		name, value := t.appendText(nil, e.start, int(e.nameLen)), t.appendText(nil, e.valueStart(), int(e.valueLen))
		fmt.Fprintf(&s, "%s: %s\n", name, value)
	}
	fmt.Fprintf(&s, "%d", t.size)
	return s.String()
}

// appendixC are the examples of RFC 7541 appendices C.2 to C.6. Each example is a connection of its own.
var appendixC = []struct {
	name   string
	max    int // size of the table
	blocks []exampleBlock
}{
	{"C.2.1 literal with indexing", 4096, []exampleBlock{
		{"400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", "custom-key: custom-header\n", "custom-key: custom-header\n55"},
	}},
	{"C.2.2 literal without indexing", 4096, []exampleBlock{{"040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path\n", "0"}}},
	{"C.2.3 literal never indexed", 4096, []exampleBlock{{"1008 7061 7373 776f 7264 0673 6563 7265 74", "!password: secret\n", "0"}}},
	{"C.2.4 indexed", 4096, []exampleBlock{{"82", ":method: GET\n", "0"}}},
	{"C.3 requests without Huffman", 4096, requests(
		"8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
		"8286 84be 5808 6e6f 2d63 6163 6865",
		"8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65")},
	{"C.4 requests with Huffman", 4096, requests(
		"8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
		"8286 84be 5886 a8eb 1064 9cbf",
		"8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf")},
	{"C.5 responses without Huffman", 256, responses(
		`4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768
		7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
		"4803 3330 37c1 c0bf",
		`88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153
		444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e
		3d31`)},
	{"C.6 responses with Huffman", 256, responses(
		`4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8
		e9ae 82ae 43d3`,
		"4883 640e ffc1 c0bf",
		`88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b
		3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`)},
}

type exampleBlock struct{ in, fields, table string }

func requests(first, second, third string) []exampleBlock {
	const start, authority = ":method: GET\n:scheme: http\n:path: /\n", ":authority: www.example.com\n"
	return []exampleBlock{
		{first, start + authority, authority + "57"},
		{second, start + authority + "cache-control: no-cache\n", "cache-control: no-cache\n" + authority + "110"},
		{third, ":method: GET\n:scheme: https\n:path: /index.html\n" + authority + "custom-key: custom-value\n",
			"custom-key: custom-value\ncache-control: no-cache\n" + authority + "164"},
	}
}

func responses(first, second, third string) []exampleBlock {
	const private, location = "cache-control: private\n", "location: https://www.example.com\n"
	const date1, date2 = "date: Mon, 21 Oct 2013 20:13:21 GMT\n", "date: Mon, 21 Oct 2013 20:13:22 GMT\n"
	const gzip = "content-encoding: gzip\n"
	const cookie = "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n"
	return []exampleBlock{
		{first, ":status: 302\n" + private + date1 + location, location + date1 + private + ":status: 302\n222"},
		{second, ":status: 307\n" + private + date1 + location, ":status: 307\n" + location + date1 + private + "222"},
		{third, ":status: 200\n" + private + date2 + location + gzip + cookie, cookie + gzip + date2 + "215"},
	}
}

func TestAppendixC(t *testing.T) {
	for _, tt := range appendixC {
		t.Run(tt.name, func(t *testing.T) {
			d := newDecoder()
			d.table.setMax(tt.max)
			for i, block := range tt.blocks {
				fields, b := decodeAll(d, unhex(block.in), &generous)
				if fields != block.fields || b.Err() != nil || b.Excess() != nil {
					t.Errorf("block %d: got %s%v, want %s", i+1, fields, b.err, block.fields)
				}
				if got := tableOf(&d.table); got != block.table {
					t.Errorf("block %d leaves the table\n%s\nwant\n%s", i+1, got, block.table)
				}
			}
		})
	}
}

// Each row is a connection. The blocks before the last one are valid. Sizes are the announced table sizes, each of which
// takes effect before the block of its index.
func TestDecoderErrors(t *testing.T) {
	const stored = "4001 6101 62" // a: b, with indexing
	for _, tt := range []struct {
		name   string
		sizes  map[int][]int
		blocks []string
		err    *Error
	}{
		{"index 0", nil, []string{"80"}, ErrIndex},
		{"last static index", nil, []string{"bd"}, nil},
		{"first dynamic index, empty table", nil, []string{"be"}, ErrIndex},
		{"first dynamic index", nil, []string{stored, "be"}, nil},
		{"index beyond the dynamic table", nil, []string{stored, "bf"}, ErrIndex},
		{"index of several bytes beyond both tables", nil, []string{"ff 80 80 01"}, ErrIndex},
		{"largest index", nil, []string{stored, "ff ff ff ff 7f"}, ErrIndex},
		{"name index beyond the tables, with indexing", nil, []string{"7e 01 61"}, ErrIndex},
		{"name index beyond the tables, without indexing", nil, []string{"0f 2f 01 61"}, ErrIndex},
		{"name index beyond the tables, never indexed", nil, []string{"1f 2f 01 61"}, ErrIndex},
		{"evicted index", map[int][]int{}, []string{stored, "20 be"}, ErrIndex},

		{"index too long", nil, []string{"ff ff ff ff ff 00"}, ErrInteger},
		{"name index too long", nil, []string{"0f ff ff ff ff ff 00"}, ErrInteger},
		{"string length too long", nil, []string{"00 7f ff ff ff ff 00"}, ErrInteger},
		{"table size too long", nil, []string{"3f ff ff ff ff 00"}, ErrInteger},

		{"index cut", nil, []string{"ff 80"}, ErrTruncated},
		{"name index cut", nil, []string{"0f"}, ErrTruncated},
		{"no name", nil, []string{"00"}, ErrTruncated},
		{"name length cut", nil, []string{"00 7f"}, ErrTruncated},
		{"name cut", nil, []string{"00 02 61"}, ErrTruncated},
		{"no value", nil, []string{"00 01 61"}, ErrTruncated},
		{"no value after a static name", nil, []string{"04"}, ErrTruncated},
		{"value cut", nil, []string{"00 01 61 02 62"}, ErrTruncated},
		{"length announces much", nil, []string{"00 01 61 7f ff ff ff 7f 62"}, ErrTruncated},
		{"table size cut", nil, []string{"3f 80"}, ErrTruncated},

		{"EOS in a name", nil, []string{"00 84 ff ff ff ff 01 61"}, ErrHuffmanEOS},
		{"EOS in a value", nil, []string{"04 84 ff ff ff ff"}, ErrHuffmanEOS},
		{"padding of a name", nil, []string{"00 82 1f ff 01 61"}, ErrHuffmanPadding},
		{"padding of a value", nil, []string{"04 81 18"}, ErrHuffmanPadding},

		{"size update within the maximum", nil, []string{"3f e1 1f 82"}, nil},
		{"size update beyond the maximum", nil, []string{"3f e2 1f 82"}, ErrSizeUpdateLarge},
		{"size update to 0", nil, []string{"20 82"}, nil},
		{"two size updates", nil, []string{"20 3f e1 1f 82"}, nil},
		{"three size updates", nil, []string{"20 21 22 82"}, ErrSizeUpdates},
		{"two size updates in each of two blocks", nil, []string{"20 21 82", "20 21 82"}, nil},
		{"size update after a field", nil, []string{"82 20"}, ErrSizeUpdateLate},
		{"size update between fields", nil, []string{stored + "20 82"}, ErrSizeUpdateLate},
		{"only a size update", nil, []string{"20"}, nil},
		{"empty block", nil, []string{""}, nil},

		{"increased maximum", map[int][]int{0: {8192}}, []string{"3f e1 3f 82"}, nil},
		{"increased maximum, not used", map[int][]int{0: {8192}}, []string{"82"}, nil},
		{"beyond an increased maximum", map[int][]int{0: {8192}}, []string{"3f e2 3f 82"}, ErrSizeUpdateLarge},
		{"beyond every maximum", map[int][]int{0: {1 << 20}}, []string{"3f e2 ff 03 82"}, ErrSizeUpdateLarge},
		{"reduced maximum", map[int][]int{0: {100}}, []string{"3f 45 82"}, nil},
		{"beyond a reduced maximum", map[int][]int{0: {100}}, []string{"3f 46 82"}, ErrSizeUpdateLarge},
		{"below a reduced maximum", map[int][]int{0: {100}}, []string{"20 82"}, nil},
		{"no size update after a reduction", map[int][]int{0: {100}}, []string{"82"}, ErrSizeUpdateMissing},
		{"empty block after a reduction", map[int][]int{0: {100}}, []string{""}, ErrSizeUpdateMissing},
		{"only one size update after a reduction", map[int][]int{0: {100}}, []string{"3f 45 82", "82"}, nil},
		{"reduction below a table that the peer reduced before", map[int][]int{1: {100}}, []string{"20 82", "82"}, nil},
		{"reduced and increased", map[int][]int{0: {100, 4096}}, []string{"3f 45 3f e1 1f 82"}, nil},
		{"reduced and increased, second update too large", map[int][]int{0: {100, 4096}}, []string{"3f 45 3f e2 1f 82"}, ErrSizeUpdateLarge},
		{"reduced and increased, first update too large", map[int][]int{0: {100, 4096}}, []string{"3f 46 3f e1 1f 82"}, ErrSizeUpdateLarge},
		{"reduced and increased, no update", map[int][]int{0: {100, 4096}}, []string{"82"}, ErrSizeUpdateMissing},
		{"reduced twice", map[int][]int{0: {100, 50}}, []string{"3f 14 82"}, ErrSizeUpdateLarge},
		{"reduced to 0", map[int][]int{1: {0}}, []string{stored, "20 be"}, ErrIndex},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDecoder()
			for i, block := range tt.blocks {
				for _, n := range tt.sizes[i] {
					d.SetMaxTableSize(n)
				}
				_, b := decodeAll(d, unhex(block), &generous)
				want := tt.err
				if i < len(tt.blocks)-1 {
					want = nil
				}
				if got := b.Err(); got != errorOf(want) {
					t.Fatalf("block %d: %v, want %v", i, got, want)
				}
				if b.Next() && want != nil {
					t.Fatal("Next goes on after an error")
				}
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	if got := ErrIndex.Error(); got != "hpack: index is 0 or beyond both tables (RFC 7541 §2.3.3)" {
		t.Error(got)
	}
	for _, err := range []*Error{ErrListTooLarge, ErrTooManyFields, ErrStringTooLong} {
		if !err.Limit {
			t.Errorf("%v is no limit", err)
		}
	}
}
