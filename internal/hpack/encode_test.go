package hpack

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop/internal/field"
)

func newEncoder(limit int) *Encoder {
	e := new(Encoder)
	e.Init(limit)
	return e
}

// appendLine appends a field that is written as "name: value".
func appendLine(e *Encoder, dst []byte, line string) []byte {
	i := strings.LastIndex(line, ": ")
	name, value := line[:i], line[i+2:]
	switch p := pseudoOf([]byte(name)); p {
	case Regular:
		return Append(e, dst, field.Lookup(name), name, []byte(value))
	case Status:
		n := 0
		fmt.Sscan(value, &n)
		return AppendStatus(e, dst, n)
	default:
		return AppendPseudo(e, dst, p, value)
	}
}

// encodeAll encodes a block of lines that end in LF.
func encodeAll(e *Encoder, lines string) []byte {
	dst := e.Begin(nil)
	for line := range strings.Lines(lines) {
		dst = appendLine(e, dst, strings.TrimSuffix(line, "\n"))
	}
	return dst
}

// Each row encodes blocks on a connection of its own, and shows their first and last form.
func TestEncoding(t *testing.T) {
	for _, tt := range []struct {
		name, fields string
		first, again string // hexadecimal
	}{
		{"status in the static table", ":status: 200\n:status: 204\n:status: 206\n:status: 304\n:status: 400\n:status: 404\n:status: 500",
			"88 89 8a 8b 8c 8d 8e", "88 89 8a 8b 8c 8d 8e"},
		{"other status", ":status: 302", "48 82 64 02", "be"},
		{"status that Huffman coding does not shorten", ":status: 777", "48 03 37 37 37", "be"},
		{"request", ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com",
			"82 86 84 41 8c f1e3 c2e5 f23a 6ba0 ab90 f4ff", "82 86 84 be"},
		{"other static pseudo-fields", ":method: POST\n:scheme: https\n:path: /index.html", "83 87 85", "83 87 85"},
		{"other method", ":method: PUT", "42 03 505554", "be"},
		{"path", ":path: /a", "04 02 2f61", "04 02 2f61"},
		{"empty path", ":path: ", "04 00", "04 00"},
		{"other scheme", ":scheme: ftp", "06 03 667470", "06 03 667470"},
		{"protocol", ":protocol: websocket", "00 09 3a70726f746f636f6c 09 776562736f636b6574", "00 09 3a70726f746f636f6c 09 776562736f636b6574"},
		{"stored, name in the static table", "Content-Type: text/html", "5f 87 497ca589d34d1f", "be"},
		{"stored, name not in the static table", "DNT: 1", "40 03 646e74 01 31", "be"},
		{"stored, value in the static table", "Accept-Encoding: gzip, deflate", "90", "90"},
		{"not stored", "ETag: \"1\"", "0f13 03 223122", "0f13 03 223122"},
		{"not stored, name not in the static table", "Idempotency-Key: 1",
			"00 0f 6964656d706f74656e63792d6b6579 01 31", "00 0f 6964656d706f74656e63792d6b6579 01 31"},
		{"unknown name", "X-Name: a", "00 06 782d6e616d65 01 61", "00 06 782d6e616d65 01 61"},
		{"empty value", "Content-Type: ", "5f 00", "be"},
		{"Authorization", "Authorization: a", "1f08 01 61", "1f08 01 61"},
		{"Proxy-Authorization", "Proxy-Authorization: a", "1f22 01 61", "1f22 01 61"},
		{"Set-Cookie", "Set-Cookie: a", "1f28 01 61", "1f28 01 61"},
		{"Cookie of 19 bytes", "Cookie: 0123456789012345678", "1f11 13 30313233343536373839303132333435363738", "1f11 13 30313233343536373839303132333435363738"},
		{"Cookie of 20 bytes", "Cookie: 01234567890123456789", "", "be"},
		{"Link of 255 bytes", "Link: " + strings.Repeat("0", 255), "", "be"},
		{"more than 255 bytes of Link", "Link: " + strings.Repeat("0", 256), "", ""},
		{"half the table", "Server: " + strings.Repeat("0", 2048-6-32), "", "be"},
		{"more than half the table", "Server: " + strings.Repeat("0", 2048-6-32+1), "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, d := newEncoder(DefaultTableSize), newDecoder()
			for i, want := range []string{tt.first, tt.again} {
				got := encodeAll(e, tt.fields)
				if want != "" && !bytes.Equal(got, unhex(want)) {
					t.Errorf("block %d: %x, want %s", i, got, want)
				}
				fields, b := decodeAll(d, got, &generous)
				fields = strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(fields, "\n"), "!", ""))
				if b.Err() != nil || fields != strings.ToLower(tt.fields) {
					t.Errorf("block %d becomes %q, %v", i, fields, b.Err())
				}
			}
			if strings.HasPrefix(tt.name, "more") && e.table.count != 0 {
				t.Error("stored")
			}
		})
	}
}

func TestContentLengthAndSensitive(t *testing.T) {
	if got := AppendContentLength(nil, 12345); !bytes.Equal(got, unhex("0f0d 05 3132333435")) {
		t.Errorf("%x", got)
	}
	if got := AppendSensitive(nil, field.ContentType, "Content-Type", "a"); !bytes.Equal(got, unhex("1f10 01 61")) {
		t.Errorf("%x", got)
	}
	if got := AppendSensitive(nil, field.Unknown, "X-Secret", []byte("a")); !bytes.Equal(got, unhex("10 08 782d736563726574 01 61")) {
		t.Errorf("%x", got)
	}
}

// An index that changes with each insertion, the name of an entry, and a return to an earlier value.
func TestEncodingFollowsTheTable(t *testing.T) {
	e := newEncoder(DefaultTableSize)
	for i, step := range []struct{ fields, want string }{
		{"Content-Type: a\nServer: b\nDate: c", "5f 01 61 76 01 62 61 01 63"},
		{"Content-Type: a\nServer: b\nDate: c", "c0 bf be"},
		{"Date: d", "61 01 64"},
		{"Content-Type: a\nServer: b\nDate: d", "c1 c0 be"},
		{"Date: c\nDate: d", "bf be"},
		{"DNT: 1", "40 03 646e74 01 31"},
		{"DNT: 0", "7e 01 30"}, // the name of the newest entry
		{"DNT: 1", "bf"},
	} {
		if got := encodeAll(e, step.fields); !bytes.Equal(got, unhex(step.want)) {
			t.Errorf("step %d: %x, want %s", i, got, step.want)
		}
	}
}

// Each row sets the peer's maximum sizes between blocks, and shows how the next block begins.
func TestEncoderSizeUpdates(t *testing.T) {
	const none, full = "", "3fe11f" // 4096
	for _, tt := range []struct {
		name  string
		limit int
		steps [][]uint32
		want  []string
	}{
		{"never set", 4096, [][]uint32{{}, {}}, []string{none, none}},
		{"the default", 4096, [][]uint32{{4096}}, []string{none}},
		{"larger than wanted", 4096, [][]uint32{{65536}, {}}, []string{none, none}},
		{"larger, as wanted", 8192, [][]uint32{{}, {8192}, {}}, []string{none, "3fe13f", none}},
		{"larger than the maximum here", 1 << 20, [][]uint32{{1 << 31}}, []string{"3fe1ff03"}},
		{"smaller", 4096, [][]uint32{{100}, {}}, []string{"3f45", none}},
		{"zero", 4096, [][]uint32{{0}, {}}, []string{"20", none}},
		{"zero and back", 4096, [][]uint32{{0, 4096}, {}, {}}, []string{"20", full, none}},
		{"zero, and back later", 4096, [][]uint32{{0}, {4096}, {}}, []string{"20", full, none}},
		{"smaller, larger, smaller", 4096, [][]uint32{{100, 4096, 200}, {}, {}}, []string{"3f45", "3fa901", none}},
		{"larger and back", 8192, [][]uint32{{8192, 4096}}, []string{none}},
		{"larger, then the default", 8192, [][]uint32{{8192}, {4096}}, []string{"3fe13f", full}},
		{"little memory here", 512, [][]uint32{{}, {256}, {8192}}, []string{none, "3fe101", full}},
		{"no memory here", 0, [][]uint32{{}, {0}, {}}, []string{none, "20", none}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEncoder(tt.limit)
			d := hpack.NewDecoder(DefaultTableSize, nil)
			for i, sizes := range tt.steps {
				for _, n := range sizes {
					e.SetPeerMaxTableSize(n)
					d.SetAllowedMaxDynamicTableSize(n)
				}
				block := e.Begin(nil)
				if !bytes.Equal(block, unhex(tt.want[i])) {
					t.Errorf("block %d begins with %x, want %s", i, block, tt.want[i])
				}
				for line := range strings.Lines("Server: a\nDate: b\nDNT: 1\n") {
					block = appendLine(e, block, strings.TrimSpace(line))
				}
				if fields, err := d.DecodeFull(block); err != nil || len(fields) != 3 || fields[2].Value != "1" {
					t.Errorf("block %d becomes %v, %v", i, fields, err)
				}
			}
		})
	}
}

// A small table here forgets entries before the peer does, and the indexes still agree.
func TestEncoderWithLittleMemory(t *testing.T) {
	for _, limit := range []int{0, 40, 100, 200, 512, 4096} {
		e, d := newEncoder(limit), newDecoder()
		for i := range 500 {
			want := fmt.Sprintf(":status: %d\ncontent-type: text/html\ndate: %d\nserver: s%d\n", 200+i%3, i/7, i%5)
			fields, b := decodeAll(d, encodeAll(e, want), &generous)
			if fields != want || b.Err() != nil {
				t.Fatalf("limit %d, block %d: %s%v, want %s", limit, i, fields, b.Err(), want)
			}
		}
		if e.table.size > uint32(limit) || len(e.table.text) > max(limit, firstText)*2 {
			t.Errorf("limit %d: size %d, %d bytes", limit, e.table.size, len(e.table.text))
		}
	}
}

func TestEncoderGeneration(t *testing.T) {
	e := newEncoder(4096)
	const response = ":status: 200\nserver: a\ndate: b\n"
	before := e.Generation()
	encodeAll(e, response)
	stored := e.Generation()
	if stored == before {
		t.Error("the first block does not change it")
	}
	encodeAll(e, response)
	if e.Generation() != stored {
		t.Error("the second block changes it")
	}
	e.SetPeerMaxTableSize(100)
	encodeAll(e, response)
	if e.Generation() == stored {
		t.Error("a smaller table does not change it")
	}
}
