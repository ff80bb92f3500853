package hpack

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop/internal/field"
)

// blocks are what the first and each further request or response of a kind looks like on the wire.
var blocks = []struct{ name, fields string }{
	{"load", ":method: GET\n:scheme: http\n:path: /\n:authority: 127.0.0.1:8080\nuser-agent: h2load nghttp2/1.52.0\n"},
	{"browser", ":method: GET\n:authority: shop.example.com\n:scheme: https\n:path: /catalog/items?category=shoes&page=3\n" +
		"cache-control: max-age=0\nsec-ch-ua-mobile: ?0\nsec-ch-ua-platform: \"Linux\"\nupgrade-insecure-requests: 1\n" +
		"user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36\n" +
		"accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\n" +
		"sec-fetch-site: same-origin\nsec-fetch-mode: navigate\nsec-fetch-dest: document\naccept-encoding: gzip, deflate, br, zstd\n" +
		"accept-language: en-US,en;q=0.9,de;q=0.8\ncookie: session=0123456789abcdef0123456789abcdef; theme=dark\n"},
	{"response", ":status: 200\nserver: gallop\ndate: Mon, 21 Oct 2013 20:13:21 GMT\ncontent-type: text/plain; charset=utf-8\n"},
}

// pair of blocks: as x/net encodes the fields for the first time, and again.
func encodeTwice(fields string) (first, again []byte) {
	var buf bytes.Buffer
	theirs := hpack.NewEncoder(&buf)
	for i := range 2 {
		for _, f := range parseLines(fields) {
			_ = theirs.WriteField(f)
		}
		if i == 0 {
			first = bytes.Clone(buf.Bytes())
			buf.Reset()
		}
	}
	return first, buf.Bytes()
}

func parseLines(lines string) (fields []hpack.HeaderField) {
	for _, line := range bytes.Split(bytes.TrimSpace([]byte(lines)), []byte("\n")) {
		name, value, _ := bytes.Cut(line, []byte(": "))
		fields = append(fields, hpack.HeaderField{Name: string(name), Value: string(value)})
	}
	return fields
}

// appendResponse encodes a response as a server does.
func appendResponse(e *Encoder, dst []byte, date, contentType []byte) []byte {
	dst = e.Begin(dst)
	dst = AppendStatus(e, dst, 200)
	dst = Append(e, dst, field.Server, "Server", "gallop")
	dst = Append(e, dst, field.Date, "Date", date)
	dst = Append(e, dst, field.ContentType, "Content-Type", contentType)
	return AppendContentLength(dst, 12)
}

func TestAllocs(t *testing.T) {
	b := new(Block)
	b.Out = make([]byte, 0, 4096)
	for _, tt := range blocks {
		first, again := encodeTwice(tt.fields)
		d := newDecoder()
		decode := func(in []byte) {
			b.Out = b.Out[:0]
			d.Start(b, in, &generous)
			for b.Next() {
			}
			if b.Err() != nil || b.Excess() != nil {
				t.Fatal(b.Err(), b.Excess())
			}
		}
		for range 64 { // until the rings have their full size
			decode(first)
		}
		if n := testing.AllocsPerRun(100, func() { decode(again) }); n != 0 {
			t.Errorf("%s: decoding again allocates %v times", tt.name, n)
		}
		if n := testing.AllocsPerRun(100, func() { decode(first) }); n != 0 {
			t.Errorf("%s: decoding literals allocates %v times", tt.name, n)
		}
	}
	e, dst := newEncoder(DefaultTableSize), make([]byte, 0, 4096)
	date, contentType, other := []byte("Mon, 21 Oct 2013 20:13:21 GMT"), []byte("text/plain"), []byte("text/html")
	if n := testing.AllocsPerRun(100, func() { dst = appendResponse(e, dst[:0], date, contentType) }); n != 0 {
		t.Errorf("encoding allocates %v times", n)
	}
	if n := testing.AllocsPerRun(1000, func() {
		date[0]++ // a new entry each time
		dst = appendResponse(e, dst[:0], date, other)
	}); n != 0 {
		t.Errorf("encoding new fields allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		dst = AppendSensitive(dst[:0], field.Unknown, "X-Name", contentType)
		dst = AppendStatus(e, dst, 302)
		dst = AppendPseudo(e, AppendPseudo(e, dst, Path, contentType), Authority, "a")
	}); n != 0 {
		t.Errorf("encoding other fields allocates %v times", n)
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, block := range blocks {
		first, again := encodeTwice(block.fields)
		for _, in := range []struct {
			name  string
			bytes []byte
		}{{"first", first}, {"again", again}} {
			b.Run(block.name+"/"+in.name+"/gallop", func(b *testing.B) { benchmarkDecode(b, first, in.bytes) })
			b.Run(block.name+"/"+in.name+"/xnet", func(b *testing.B) {
				d := hpack.NewDecoder(DefaultTableSize, func(hpack.HeaderField) {})
				_, _ = d.Write(first)
				_ = d.Close()
				b.ReportAllocs()
				for b.Loop() {
					_, _ = d.Write(in.bytes)
					_ = d.Close()
				}
			})
		}
	}
}

func benchmarkDecode(b *testing.B, first, in []byte) {
	d := newDecoder()
	decodeAll(d, first, &generous)
	var block Block
	b.ReportAllocs()
	for b.Loop() {
		block.Out = block.Out[:0]
		d.Start(&block, in, &generous)
		for block.Next() {
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	date, contentType := []byte("Mon, 21 Oct 2013 20:13:21 GMT"), []byte("text/plain; charset=utf-8")
	b.Run("response/gallop", func(b *testing.B) {
		e, dst := newEncoder(DefaultTableSize), make([]byte, 0, 256)
		b.ReportAllocs()
		for b.Loop() {
			dst = appendResponse(e, dst[:0], date, contentType)
		}
	})
	b.Run("response/xnet", func(b *testing.B) {
		var buf bytes.Buffer
		e := hpack.NewEncoder(&buf)
		fields := parseLines(blocks[2].fields + "content-length: 12\n")
		b.ReportAllocs()
		for b.Loop() {
			buf.Reset()
			for _, f := range fields {
				_ = e.WriteField(f)
			}
		}
	})
}

func BenchmarkHuffman(b *testing.B) {
	const agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36"
	coded := hpack.AppendHuffmanString(nil, agent)
	dst := make([]byte, 0, 256)
	b.Run("decode/gallop", func(b *testing.B) {
		b.SetBytes(int64(len(agent)))
		for b.Loop() {
			dst, _ = appendDecoded(dst[:0], coded)
		}
	})
	b.Run("decode/xnet", func(b *testing.B) {
		var buf bytes.Buffer
		b.SetBytes(int64(len(agent)))
		for b.Loop() {
			buf.Reset()
			_, _ = hpack.HuffmanDecode(&buf, coded)
		}
	})
	b.Run("encode/gallop", func(b *testing.B) {
		b.SetBytes(int64(len(agent)))
		for b.Loop() {
			dst = appendEncoded(dst[:0], agent, encodedLen(agent))
		}
	})
	b.Run("encode/xnet", func(b *testing.B) {
		b.SetBytes(int64(len(agent)))
		for b.Loop() {
			dst = hpack.AppendHuffmanString(dst[:0], agent)
		}
	})
}
