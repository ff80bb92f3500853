package http1

import (
	"bytes"
	"io"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/field"
)

var chunkLimits = ChunkLimits{Line: 4 << 10, Overhead: 16 << 10, Trailer: 8 << 10, Fields: 64}

// decode reads a chunked body that arrives in pieces, split at the cuts. It returns the data, the trailers, the
// length of the body and the error.
func decode(b []byte, cuts ...int) (data []byte, trailers string, n int, err error) {
	var c ChunkReader
	var l field.List
	for _, end := range append(cuts, len(b)) {
		for !c.Done() {
			d, k, err := c.Next(b[n:end:end], &chunkLimits, &l)
			if err != nil {
				return nil, "", 0, err
			}
			data = append(data, d...)
			if n += k; k == 0 {
				break
			}
		}
	}
	if !c.Done() {
		return nil, "", 0, io.ErrUnexpectedEOF
	}
	var s strings.Builder
	for i := range l.Len() {
		name, value := l.At(i)
		s.WriteString(string(name) + "=" + string(value) + ";")
	}
	return data, s.String(), n, nil
}

var chunkedBodies = []struct {
	name, in       string
	data, trailers string
	want           error
}{
	{"two chunks", "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "hello", "", nil},
	{"zeros and case", "00000A\r\n0123456789\r\n000\r\n\r\n", "0123456789", "", nil},
	{"extensions", "5;a;b=c ;\td = \"e\\\";,f\"\r\nhello\r\n0;x\r\n\r\n", "hello", "", nil},
	{"trailers", "1\r\na\r\n0\r\nX-T: 1\r\nx-u:2 \r\n\r\n", "a", "X-T=1;x-u=2;", nil},
	{"forbidden trailers", "1\r\na\r\n0\r\nContent-Length: 9\r\nX: y\r\nHost: e\r\ncookie: a\r\n\r\n", "a", "X=y;", nil},
	{"what follows stays", "1\r\na\r\n0\r\n\r\nGET / HTTP/1.1", "a", "", nil},
	{"data like an end", "7\r\n0\r\n\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n\r\n", "", nil},

	{"no size", "\r\na\r\n0\r\n\r\n", "", "", ErrChunkSize},
	{"sign", "+1\r\na\r\n0\r\n\r\n", "", "", ErrChunkSize},
	{"prefix", "0x1\r\na\r\n0\r\n\r\n", "", "", ErrChunkSize},
	{"blank behind size", "1 \r\na\r\n0\r\n\r\n", "", "", ErrChunkSize},
	{"junk behind size", "1 a\r\na\r\n0\r\n\r\n", "", "", ErrChunkSize},
	{"overflow", "8000000000000000\r\na\r\n0\r\n\r\n", "", "", ErrChunkSize},
	{"17 digits", "00000000000000001\r\na\r\n0\r\n\r\n", "", "", ErrChunkSize},
	{"LF line", "1\na\r\n0\r\n\r\n", "", "", ErrChunkSize},
	{"empty extension", "1;\r\na\r\n0\r\n\r\n", "", "", ErrChunkExtension},
	{"LF in extension", "1;a\nx\r\na\r\n0\r\n\r\n", "", "", ErrChunkSize},
	{"LF in quotes", "1;a=\"\n\"\r\na\r\n0\r\n\r\n", "", "", ErrChunkExtension},
	{"open quotes", "1;a=\"\r\na\r\n0\r\n\r\n", "", "", ErrChunkExtension},
	{"no value", "1;a=\r\na\r\n0\r\n\r\n", "", "", ErrChunkExtension},
	{"endless extension", "1;" + strings.Repeat("a", 5000) + "\r\na\r\n0\r\n\r\n", "", "", ErrChunkOverhead},
	{"extension flood", strings.Repeat("1;"+strings.Repeat("a", 4000)+"\r\na\r\n", 5) + "0\r\n\r\n", "", "", ErrChunkOverhead},
	{"short data", "2\r\na\r\n0\r\n\r\n", "", "", ErrChunkEnd},
	{"long data", "1\r\nab\r\n0\r\n\r\n", "", "", ErrChunkEnd},
	{"LF behind data", "1\r\na\n0\r\n\r\n", "", "", ErrChunkEnd},
	{"trailer without colon", "0\r\nX\r\n\r\n", "", "", ErrName},
	{"folded trailer", "0\r\nX: a\r\n b\r\n\r\n", "", "", ErrFold},
	{"large trailer", "0\r\nX: " + strings.Repeat("a", 8<<10) + "\r\n\r\n", "", "", ErrTrailerTooLarge},
	{"no end", "1\r\na\r\n0\r\n", "", "", io.ErrUnexpectedEOF},
}

func TestChunkReader(t *testing.T) {
	for _, tc := range chunkedBodies {
		data, trailers, n, err := decode([]byte(tc.in))
		if err != tc.want && (err != nil || tc.want != nil) || string(data) != tc.data || trailers != tc.trailers {
			t.Errorf("%s: got %q, %q, %v; want %q, %q, %v", tc.name, data, trailers, err, tc.data, tc.trailers, tc.want)
		}
		if rest := tc.in[n:]; tc.want == nil && rest != "" && rest != "GET / HTTP/1.1" {
			t.Errorf("%s: left %q", tc.name, rest)
		}
	}
}

func TestChunkedCutAnywhereIsTheSame(t *testing.T) {
	for _, tc := range chunkedBodies {
		for i := range tc.in {
			data, trailers, _, err := decode([]byte(tc.in), i)
			if string(data) != tc.data || trailers != tc.trailers || (err == nil) != (tc.want == nil) {
				t.Errorf("%s cut at %d: got %q, %q, %v", tc.name, i, data, trailers, err)
			}
		}
	}
}

func TestAppendChunkReadsBack(t *testing.T) {
	var l field.List
	field.Add(&l, field.Unknown, "X-T", "1")
	field.Add(&l, field.ContentLength, "Content-Length", "1")
	var b []byte
	for _, s := range []string{"hello", "", strings.Repeat("x", 300)} {
		b = AppendChunk(b, []byte(s))
	}
	b = AppendLastChunk(b, &l)
	data, trailers, n, err := decode(b)
	if err != nil || n != len(b) || string(data) != "hello"+strings.Repeat("x", 300) || trailers != "X-T=1;" {
		t.Errorf("got %q, %q, %d of %d, %v", data, trailers, n, len(b), err)
	}
}

// FuzzChunkReader checks that a body decodes to the same result wherever it is cut. If net/http's reader accepts the
// body as well, both must return the same data.
func FuzzChunkReader(f *testing.F) {
	for _, tc := range chunkedBodies {
		if len(tc.in) < 2000 {
			f.Add([]byte(tc.in), 5, 9)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, i, j int) {
		data, trailers, n, err := decode(b)
		i, j = abs(i)%(len(b)+1), abs(j)%(len(b)+1)
		data2, trailers2, n2, err2 := decode(b, min(i, j), max(i, j))
		if !bytes.Equal(data, data2) || trailers != trailers2 || n != n2 || (err == nil) != (err2 == nil) {
			t.Fatalf("cut at %d and %d: %q %q %v; whole: %q %q %v", i, j, data2, trailers2, err2, data, trailers, err)
		}
		if err != nil {
			return
		}
		theirs, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(b)))
		if err == nil && !bytes.Equal(theirs, data) {
			t.Fatalf("net/http reads %q, this %q", theirs, data)
		}
	})
}
