package gallopgrpc

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestParseTimeout(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"1n": 1, "0S": 0, "5u": 5 * time.Microsecond, "20m": 20 * time.Millisecond, "00000003S": 3 * time.Second, "2M": 2 * time.Minute,
		"1H": time.Hour, "99999999S": 99999999 * time.Second, "99999999H": math.MaxInt64,
		"": -1, "1": -1, "S": -1, "1s": -1, "-1S": -1, "+1S": -1, "1.5S": -1, " 1S": -1, "1 S": -1, "123456789S": -1, "1SS": -1,
	} {
		d, ok := parseTimeout([]byte(s))
		if ok != (want >= 0) || ok && d != want {
			t.Errorf("%q: %v, %v", s, d, ok)
		}
	}
}

func FuzzParseTimeout(f *testing.F) {
	f.Add([]byte("99999999H"))
	f.Add([]byte("10m"))
	f.Fuzz(func(t *testing.T, s []byte) {
		if d, ok := parseTimeout(s); d < 0 || ok && (len(s) < 2 || len(s) > 9) {
			t.Errorf("%q: %v, %v", s, d, ok)
		}
	})
}

func TestEncodeMessage(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "plain ~": "plain ~", "100%": "100%25", "a\r\nb": "a%0D%0Ab", "\x7f": "%7F", "ü": "%C3%BC", "a\xffb": "a%EF%BF%BDb",
	} {
		if got := encodeMessage(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}

// decodeMessage undoes encodeMessage, as clients do.
func decodeMessage(s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		digit := func(c byte) byte { return byte(strings.IndexByte("0123456789ABCDEF", c)) }
		b = append(b, digit(s[i+1])<<4|digit(s[i+2]))
		i += 2
	}
	return string(b)
}

func FuzzEncodeMessage(f *testing.F) {
	f.Add("a %\xff\u00fc\n")
	f.Fuzz(func(t *testing.T, s string) {
		enc := encodeMessage(s)
		if !isPrintable(enc) {
			t.Errorf("%q became %q", s, enc)
		}
		want := s
		if !utf8.ValidString(s) {
			want = string([]rune(s))
		}
		if got := decodeMessage(enc); got != want {
			t.Errorf("%q became %q, which is %q", s, enc, got)
		}
	})
}

func TestFields(t *testing.T) {
	var f fields
	for _, nv := range [][2]string{{"a", "1"}, {"b-bin", "YWI=,YWJj , "}, {"a", "2,3"}, {"c", ""}, {"b-bin", "AA"}} {
		f.add([]byte(nv[0]), []byte(nv[1]))
	}
	md := f.metadata()
	for name, want := range map[string][]string{"a": {"1", "2,3"}, "b-bin": {"ab", "abc", "", "\x00"}, "c": {""}} {
		if got := md[name]; strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if len(md) != 3 {
		t.Errorf("%v", md)
	}
}

func FuzzFields(f *testing.F) {
	f.Add("a", "value", "b-bin", "YWI=,YQ")
	f.Add("x-bin", "!", "", "")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		if len(name1) > 1000 || len(name2) > 1000 {
			return
		}
		var all fields
		all.add([]byte(name1), []byte(value1))
		all.add([]byte(name2), []byte(value2))
		md := all.metadata()
		if !isBinary(name1) && md[name1][0] != value1 {
			t.Errorf("%q: %q", name1, md[name1])
		}
		if isBinary(name2) && checkBinary(value2) == nil && len(md[name2]) < 1+strings.Count(value2, ",") {
			t.Errorf("%q: %q", name2, md[name2])
		}
	})
}

// testCall returns a call with a limit for messages.
func testCall(limit int) *call {
	return &call{s: &Server{maxRecv: limit, maxSend: limit}, encoding: "gzip"}
}

// messagesOf returns the messages that a receiver takes, separated by newlines, and why it ends.
func messagesOf(b *receiver, c *call) (all string, err error) {
	for {
		flag, p, err := b.next(c)
		if err != nil {
			b.release()
			return all, err
		}
		all += string('0'+rune(flag)) + string(p) + "\n"
	}
}

func TestReceiver(t *testing.T) {
	long := strings.Repeat("long ", 40_000) // larger than the buffers that are kept
	stream := "\x00\x00\x00\x00\x03abc\x01\x00\x00\x00\x00\x00\x00\x03\x0d\x40" + long + "\x00\x00\x00\x00\x01z"
	want := "0abc\n1\n0" + long + "\n0z\n"
	for name, reader := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader, "error with data": iotest.DataErrReader,
	} {
		for cut := range 30 {
			var b receiver
			b.setBody(reader(strings.NewReader(stream[:len(stream)-cut])))
			got, err := messagesOf(&b, testCall(1<<20))
			whole := cut == 0 || cut == 6
			if whole != (err == io.EOF) || !whole && status.Code(err) != codes.Internal || !strings.HasPrefix(want, got) || cut == 0 && got != want {
				t.Errorf("%s, without %d bytes: %d bytes, %v", name, cut, len(got), err)
			}
		}
	}
}

// A receiver does not get memory for what is only announced.
func TestReceiverGrows(t *testing.T) {
	var b receiver
	b.setBody(strings.NewReader("\x00\x3f\xff\xff\xffbytes"))
	if _, err := messagesOf(&b, testCall(math.MaxInt)); status.Code(err) != codes.Internal {
		t.Error(err)
	}
	b.setBody(io.MultiReader(strings.NewReader("\x00\x3f\xff\xff\xff"), strings.NewReader("bytes"), iotest.ErrReader(io.ErrClosedPipe)))
	b.err = nil
	if _, _, err := b.next(testCall(math.MaxInt)); err != io.ErrClosedPipe || cap(b.buf) > 64<<10 {
		t.Errorf("%v, %d bytes", err, cap(b.buf))
	}
}

func FuzzReceiver(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x03abc\x01\x00\x00\x00\x00"), 3)
	f.Add([]byte("\x00\xff\xff\xff\xff"), 1)
	f.Fuzz(func(t *testing.T, p []byte, piece int) {
		c := testCall(1000)
		var whole, pieces receiver
		whole.setBytes(p)
		want, err1 := messagesOf(&whole, c)
		pieces.setBody(&pieceReader{p, max(piece%100, 1)})
		got, err2 := messagesOf(&pieces, c)
		if got != want || status.Code(err1) != status.Code(err2) || (err1 == io.EOF) != (err2 == io.EOF) {
			t.Errorf("%q, %v; in pieces %q, %v", want, err1, got, err2)
		}
		if n := len(got) - strings.Count(got, "\n"); n > len(p) {
			t.Errorf("%d bytes out of %d", n, len(p))
		}
	})
}

// pieceReader reads n bytes at a time.
type pieceReader struct {
	p []byte
	n int
}

func (r *pieceReader) Read(p []byte) (int, error) {
	if len(r.p) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(r.n, len(p))], r.p)
	r.p = r.p[n:]
	return n, nil
}

func TestContentSubtype(t *testing.T) {
	for s, want := range map[string]string{
		"application/grpc": "", "application/grpc+proto": "proto", "application/grpc;json": "json", "application/grpc+JSON": "json", "application/grpc+": "",
		"application/grpc-web": "no", "application/grpcx": "no", "text/plain": "no", "": "no", "application/grp": "no",
	} {
		if got, ok := contentSubtype([]byte(s)); ok == (want == "no") || ok && got != want {
			t.Errorf("%q: %q, %v", s, got, ok)
		}
	}
}

func TestListHas(t *testing.T) {
	for list, want := range map[string]bool{"gzip": true, "identity, gzip": true, "a,gzip ,b": true, "": false, "gzipped": false, "g,zip": false} {
		if listHas(list, "gzip") != want {
			t.Errorf("%q", list)
		}
	}
	if !bytes.Equal(appendLower(nil, []byte("Grpc-Ü-Z")), []byte("grpc-Ü-z")) {
		t.Error("not in lower case")
	}
}
