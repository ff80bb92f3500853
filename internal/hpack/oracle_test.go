package hpack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop/internal/field"
)

// The tests of this file compare this package with x/net's hpack, in both directions.

// tape is the input of a fuzz target, read piece by piece.
type tape []byte

func (p *tape) byte() byte {
	if len(*p) == 0 {
		return 0
	}
	c := (*p)[0]
	*p = (*p)[1:]
	return c
}

func (p *tape) bytes(n int) []byte {
	n = min(n, len(*p))
	b := (*p)[:n]
	*p = (*p)[n:]
	return b
}

// tight are limits that many blocks of the fuzzer exceed.
var tight = Limits{List: 300, Fields: 6, String: 40}

// decoders decode the same blocks: with generous limits, with tight ones, and x/net's.
type decoders struct {
	ours, tight Decoder
	theirs      *hpack.Decoder
	reduced     bool // the maximum was reduced since the last block
}

func newDecoders() *decoders {
	d := &decoders{theirs: hpack.NewDecoder(DefaultTableSize, nil)}
	d.ours.Init()
	d.tight.Init()
	return d
}

func (d *decoders) setMax(n int) {
	d.reduced = d.reduced || n < int(d.ours.table.max)
	d.ours.SetMaxTableSize(n)
	d.tight.SetMaxTableSize(n)
	d.theirs.SetAllowedMaxDynamicTableSize(uint32(n))
}

// decode decodes a block and compares the results. It returns false after an error.
func (d *decoders) decode(t *testing.T, in []byte) bool {
	t.Helper()
	fields, b := decodeAll(&d.ours, in, &generous)
	theirs, theirErr := d.theirs.DecodeFull(in)
	if err := b.Err(); err != nil {
		if theirErr == nil && !d.permits(err) {
			t.Fatalf("%x: %v, x/net accepts it", in, err)
		}
		if _, tightBlock := decodeAll(&d.tight, in, &tight); tightBlock.Err() != err {
			t.Fatalf("%x: %v, with tight limits %v", in, err, tightBlock.Err())
		}
		return false
	}
	if theirErr != nil && b.updates == 2 {
		return false // x/net refuses the second update if the table is not empty, against RFC 7541 §4.2
	}
	if theirErr != nil {
		t.Fatalf("%x: accepted, x/net: %v", in, theirErr)
	}
	if want := linesOf(theirs); fields != want {
		t.Fatalf("%x: got\n%s\nx/net\n%s", in, fields, want)
	}
	d.reduced = false
	d.decodeTight(t, in, theirs)
	return true
}

// permits reports whether x/net may accept a block that we refuse with err. RFC 7541 §5.1 lets a decoder limit integers.
// While its table is empty, x/net accepts size updates after fields and more than two of them, against RFC 7541 §4.2. It
// does not implement RFC 9113 §4.3.1.
func (d *decoders) permits(err error) bool {
	switch err {
	case ErrInteger, ErrSizeUpdates, ErrSizeUpdateLate:
		return true
	case ErrSizeUpdateMissing, ErrSizeUpdateLarge:
		return d.reduced
	}
	return false
}

// decodeTight decodes a valid block with tight limits. It checks that Next returned the fields before the excess, that Excess
// names the right limit, that the table is the same as without limits, and that Out stayed small.
func (d *decoders) decodeTight(t *testing.T, in []byte, all []hpack.HeaderField) {
	t.Helper()
	fields, b := decodeAll(&d.tight, in, &tight)
	n, size := 0, 0
	var excess *Error
	for _, f := range all {
		size += len(f.Name) + len(f.Value) + FieldOverhead
		switch {
		case excess != nil:
		case size > tight.List:
			excess = ErrListTooLarge
		case n == tight.Fields:
			excess = ErrTooManyFields
		case len(f.Name) > tight.String || len(f.Value) > tight.String:
			excess = ErrStringTooLong
		default:
			n++
		}
	}
	if want := linesOf(all[:n]); fields != want || b.Excess() != errorOf(excess) || b.Err() != nil || b.Size() != int64(size) {
		t.Fatalf("%x: got\n%s%v, size %d, want\n%s%v, size %d", in, fields, b.Excess(), b.Size(), want, excess, size)
	}
	if got, want := tableOf(&d.tight.table), tableOf(&d.ours.table); got != want {
		t.Fatalf("%x leaves the table\n%s\nwant\n%s", in, got, want)
	}
	if most := 2 * (tight.List + int(d.tight.table.max) + 64); cap(b.Out) > most {
		t.Fatalf("%x: Out has room for %d bytes, expected at most %d", in, cap(b.Out), most)
	}
}

// linesOf writes x/net's fields as decodeAll writes ours.
func linesOf(fields []hpack.HeaderField) string {
	var s strings.Builder
	for _, f := range fields {
		name, mark := f.Name, ""
		if pseudoOf([]byte(name)) == UnknownPseudo {
			name = ":?"
		}
		if f.Sensitive {
			mark = "!"
		}
		fmt.Fprintf(&s, "%s%s: %s\n", mark, name, f.Value)
	}
	return s.String()
}

// decodeTape decodes the blocks of a tape. Each is preceded by its length; 255 stands for a new maximum size instead.
func decodeTape(t *testing.T, p tape) {
	t.Helper()
	d := newDecoders()
	for len(p) > 0 {
		if n := int(p.byte()); n == 255 {
			d.setMax(int(p.byte()) * 40)
		} else if !d.decode(t, p.bytes(n)) {
			return
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, example := range appendixC {
		var seed []byte
		for _, block := range example.blocks {
			in := unhex(block.in)
			seed = append(append(seed, byte(len(in))), in...)
		}
		f.Add(seed)
	}
	f.Add([]byte("\xff\x02\x03\x3f\x31\x82\x01\xbe"))
	f.Add([]byte("\x08\x40\x01a\x03bcd\xbe\x02\xbe\xbe"))
	f.Fuzz(func(t *testing.T, b []byte) { decodeTape(t, b) })
}

// Blocks of x/net's encoder, intact and with one wrong byte.
func TestDecodeRandomBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 400 {
		d := newDecoders()
		var buf bytes.Buffer
		theirs := hpack.NewEncoder(&buf)
		for step := range 12 {
			if r.IntN(4) == 0 {
				n := r.IntN(400)
				d.setMax(n)
				theirs.SetMaxDynamicTableSizeLimit(uint32(n))
			}
			buf.Reset()
			for range r.IntN(8) {
				_ = theirs.WriteField(randomField(r))
			}
			in := bytes.Clone(buf.Bytes())
			if step > 8 && len(in) > 0 {
				in[r.IntN(len(in))] ^= 1 << r.IntN(8)
			}
			if !d.decode(t, in) {
				break
			}
		}
	}
}

func randomField(r *rand.Rand) hpack.HeaderField {
	names := []string{":method", ":path", ":odd", "content-type", "date", "server", "x-name", "X-Upper", "cookie", "", "x-" + strings.Repeat("n", 40)}
	values := []string{"", "a", "GET", "text/html", "gzip, deflate", strings.Repeat("v", r.IntN(100)), fmt.Sprint(r.IntN(10)), "\x00\xff\n "}
	return hpack.HeaderField{Name: names[r.IntN(len(names))], Value: values[r.IntN(len(values))], Sensitive: r.IntN(10) == 0}
}

// encodeTape encodes blocks of fields that a tape describes, with sizes that change, and decodes them with both decoders.
func encodeTape(t *testing.T, p tape) {
	t.Helper()
	e, d := newEncoder(40*int(p.byte())), newDecoders()
	for len(p) > 0 {
		if c := p.byte(); c >= 0xf0 {
			n := 40 * int(p.byte())
			e.SetPeerMaxTableSize(uint32(n))
			d.setMax(n)
		} else {
			checkEncode(t, e, d, &p, int(c)%8)
		}
	}
}

func checkEncode(t *testing.T, e *Encoder, d *decoders, p *tape, fields int) {
	t.Helper()
	var want strings.Builder
	block := e.Begin(nil)
	for range fields {
		block = appendFromTape(e, block, p, &want)
	}
	got, err := d.theirs.DecodeFull(block)
	if err != nil || linesOf(got) != want.String() {
		t.Fatalf("%x becomes\n%s%v, want\n%s", block, linesOf(got), err, want.String())
	}
	if got, b := decodeAll(&d.ours, block, &generous); b.Err() != nil || got != want.String() {
		t.Fatalf("%x becomes\n%s%v, want\n%s", block, got, b.Err(), want.String())
	}
}

// appendFromTape appends a field, and writes to want how it is decoded.
func appendFromTape(e *Encoder, block []byte, p *tape, want *strings.Builder) []byte {
	c := p.byte()
	value := p.bytes(int(p.byte() % 64))
	if p.byte()%8 == 0 {
		value = bytes.Repeat(value, 8)
	}
	id := field.ID(c)
	switch {
	case c == 0:
		name := fmt.Sprintf("X-%x", p.byte())
		fmt.Fprintf(want, "%s: %s\n", strings.ToLower(name), value)
		return Append(e, block, field.Unknown, name, value)
	case id <= field.HTTP2Settings:
		mark := ""
		if policyOf(id, len(value)) == never {
			mark = "!"
		}
		fmt.Fprintf(want, "%s%s: %s\n", mark, id.Lower(), value)
		return Append(e, block, id, id.String(), value)
	case c < 0xe0:
		pseudo := []Pseudo{Authority, Method, Path, Scheme, Protocol}[c%5]
		fmt.Fprintf(want, "%s: %s\n", pseudo, value)
		return AppendPseudo(e, block, pseudo, string(value))
	}
	status := 100 + 7*int(p.byte())%900
	fmt.Fprintf(want, ":status: %d\n", status)
	return AppendStatus(e, block, status)
}

func FuzzEncode(f *testing.F) {
	f.Add([]byte("\x66\x03\x05\x04text\x01\x15\x01a\x01\x14\x03now\x01\x03\x05\x04text\x01"))
	f.Add([]byte("\x66\x02\xe1\x00\x01\x32\x00\x01a\x01b\xff\x00\xff\x10\x02\x05\x04text\x01\x05\x04text\x01"))
	f.Fuzz(func(t *testing.T, b []byte) { encodeTape(t, b) })
}

func TestEncodeRandomFields(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		b := make([]byte, r.IntN(600))
		for i := range b {
			if b[i] = byte(r.Uint32()); r.IntN(3) == 0 {
				b[i] %= 34 // makes equal fields likely
			}
		}
		encodeTape(t, b)
	}
}
