package coding

import (
	"bytes"
	stdgzip "compress/gzip"
	stdzlib "compress/zlib"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

var real = []Coding{Gzip, Deflate, Brotli, Zstd}

// samples returns bodies by name: empty, tiny, text, noise, and one that is larger than every buffer. Tests do not change them.
var samples = sync.OnceValue(func() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300<<10)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	text := bytes.Repeat([]byte(`{"id":17,"name":"gallop","tags":["a","b"]},`), 100)
	long := make([]byte, 0, 3<<20)
	for len(long) < 3<<20 {
		long = append(long, text[:r.IntN(len(text))]...)
		long = append(long, noise[:r.IntN(400)]...)
	}
	return map[string][]byte{"empty": {}, "byte": {'x'}, "text": text, "noise": noise, "long": long}
})

// reference encodes with the reference library of the coding.
func reference(t testing.TB, c Coding, body []byte) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch c {
	case Gzip:
		w = stdgzip.NewWriter(&b)
	case Deflate:
		w = stdzlib.NewWriter(&b)
	case Brotli:
		w = brotli.NewWriterLevel(&b, 5)
	case Zstd:
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	default:
		return body
	}
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// undoReference decodes with the reference library of the coding.
func undoReference(t testing.TB, c Coding, src []byte) []byte {
	var r io.Reader = bytes.NewReader(src)
	var err error
	switch c {
	case Gzip:
		r, err = stdgzip.NewReader(r)
	case Deflate:
		r, err = stdzlib.NewReader(r)
	case Brotli:
		r = brotli.NewReader(r)
	case Zstd:
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// readAll decodes src as a stream that arrives a few bytes at a time.
func readAll(src []byte, list List, limits Limits) ([]byte, error) {
	r := AcquireReader(list, &drip{b: src}, limits)
	defer ReleaseReader(r)
	return io.ReadAll(r)
}

// drip reads 1, 2, 3, … bytes at a time.
type drip struct {
	b []byte
	n int
}

func (d *drip) Read(p []byte) (int, error) {
	if len(d.b) == 0 {
		return 0, io.EOF
	}
	d.n = d.n%1500 + 1
	n := copy(p, d.b[:min(d.n, len(d.b))])
	d.b = d.b[n:]
	return n, nil
}

// decoders are all functions that decode. Their results must agree.
var decoders = map[string]func(src []byte, list List, limits Limits) ([]byte, error){
	"append": func(src []byte, list List, limits Limits) ([]byte, error) {
		return AppendDecode(nil, src, list, limits)
	},
	"write": func(src []byte, list List, limits Limits) ([]byte, error) {
		var b bytes.Buffer
		_, err := Decode(&b, src, list, limits)
		return b.Bytes(), err
	},
	"stream": readAll,
}

func listOf(cs ...Coding) (l List) {
	for _, c := range cs {
		l.codings[l.n] = c
		l.n++
	}
	return l
}
