package gallop

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func newTestBody(kind message.BodyKind, length int64, in string) (*bufferedBody, *bufio.Reader) {
	r := bufio.NewReaderSize(strings.NewReader(in), 16<<10)
	b := bodyOn(r, kind, length, nil)
	return &b, r
}

// A body ends where its framing says, with io.EOF ever after, and what follows is left.
func TestBufferedBody(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   message.BodyKind
		length int64
		in     string
		want   string
		rest   string
		err    error
	}{
		{"no body", message.NoBody, -1, "next", "", "next", nil},
		{"fixed", message.Fixed, 3, "abcnext", "abc", "next", nil},
		{"fixed of no bytes", message.Fixed, 0, "next", "", "next", nil},
		{"fixed, cut off", message.Fixed, 5, "abc", "abc", "", io.ErrUnexpectedEOF},
		{"chunked", message.Chunked, -1, "3\r\nabc\r\n2;x\r\nde\r\n0\r\nA: b\r\n\r\nnext", "abcde", "next", nil},
		{"chunked of no bytes", message.Chunked, -1, "0\r\n\r\nnext", "", "next", nil},
		{"chunked, cut off in data", message.Chunked, -1, "5\r\nabc", "abc", "", io.ErrUnexpectedEOF},
		{"chunked, cut off in a line", message.Chunked, -1, "3\r\nabc\r\n1", "abc", "1", io.ErrUnexpectedEOF},
		{"chunked, cut off in trailers", message.Chunked, -1, "0\r\nA: b\r\n", "", "A: b\r\n", io.ErrUnexpectedEOF},
		{"chunked, no size", message.Chunked, -1, "x\r\n", "", "x\r\n", ErrBrokenChunk{}},
		{"until close", message.UntilClose, -1, "abc", "abc", "", nil},
	} {
		for _, step := range []int{1, 2, 1 << 10} {
			b, r := newTestBody(tt.kind, tt.length, tt.in)
			got, err := io.ReadAll(wiretest.AtMost(b, step))
			if _, ok := tt.err.(ErrBrokenChunk); ok {
				if !errors.As(err, new(ErrBrokenChunk)) || !errors.As(err, new(*ParseError)) {
					t.Errorf("%s: %v is not what broke", tt.name, err)
				}
			} else if !errors.Is(err, tt.err) {
				t.Errorf("%s: error %v, want %v", tt.name, err, tt.err)
			}
			if _, again := b.Read(make([]byte, 1)); again == nil || err != nil && again != err {
				t.Errorf("%s: then %v", tt.name, again)
			}
			rest, _ := io.ReadAll(r)
			if string(got) != tt.want || string(rest) != tt.rest {
				t.Errorf("%s: read %q, left %q", tt.name, got, rest)
			}
		}
	}
}

// Close finds the end of a body that was not read, if it is near.
func TestBufferedBodyClose(t *testing.T) {
	chunk := "10000\r\n" + strings.Repeat("x", 1<<16) + "\r\n"
	for _, tt := range []struct {
		name   string
		kind   message.BodyKind
		length int64
		in     string
		err    error
	}{
		{"no body", message.NoBody, -1, "next", nil},
		{"fixed", message.Fixed, 3, "abcnext", nil},
		{"chunked", message.Chunked, -1, chunk + chunk + "0\r\n\r\nnext", nil},
		{"fixed, far", message.Fixed, 1 << 40, "", errBodyUnread},
		{"chunked, far", message.Chunked, -1, strings.Repeat(chunk, 8) + "0\r\n\r\n", errBodyUnread},
		{"fixed, cut off", message.Fixed, 5, "abc", io.ErrUnexpectedEOF},
		{"chunked, cut off", message.Chunked, -1, "5\r\nabc", io.ErrUnexpectedEOF},
	} {
		b, r := newTestBody(tt.kind, tt.length, tt.in)
		if err := b.Close(); !errors.Is(err, tt.err) {
			t.Errorf("%s: Close() = %v, want %v", tt.name, err, tt.err)
		}
		if rest, _ := io.ReadAll(r); tt.err == nil && string(rest) != "next" {
			t.Errorf("%s: %q is left", tt.name, rest)
		}
	}
}

// The limit is for what arrives; what is announced beyond it is refused at once.
func TestBodyLimit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   message.BodyKind
		length int64
		in     string
		limit  int
		ok     bool
	}{
		{"fixed, at the limit", message.Fixed, 3, "abc", 3, true},
		{"fixed, over it", message.Fixed, 4, "abcd", 3, false},
		{"fixed, no limit", message.Fixed, 4, "abcd", 0, true},
		{"chunked, at the limit", message.Chunked, -1, "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", 3, true},
		{"chunked, over it", message.Chunked, -1, "1\r\na\r\n3\r\nbcd\r\n0\r\n\r\n", 3, false},
		{"until close, at the limit", message.UntilClose, -1, "abc", 3, true},
		{"until close, over it", message.UntilClose, -1, "abcd", 3, false},
	} {
		b, _ := newTestBody(tt.kind, tt.length, tt.in)
		if _, err := b.appendAll(nil, tt.limit); tt.ok && err != nil || !tt.ok && err != ErrBodyTooLarge {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A length costs nothing before the bytes are there.
func TestAnnouncedLengthAllocatesNothing(t *testing.T) {
	for _, head := range []string{
		fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nabc", math.MaxInt),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\nabc",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var resp Response
		if err := resp.Read(bufio.NewReader(strings.NewReader(head))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%.60q: %v", head, err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%.60q: %d bytes allocated", head, n)
		}
	}
}

// A chunk line, and the trailers, have to fit the buffer of the reader.
func TestBufferedBodyInASmallBuffer(t *testing.T) {
	trailers := "0\r\nX: " + strings.Repeat("x", 5<<10) + "\r\n\r\n"
	for _, tt := range []struct {
		name, in string
		size     int
		small    bool
	}{
		{"trailers that fit", trailers, 8 << 10, false},
		{"trailers that do not", trailers, 4 << 10, true},
		{"chunk line that does not", "0;" + strings.Repeat("x", 100) + "\r\n\r\n", 64, true},
	} {
		r := bufio.NewReaderSize(strings.NewReader(tt.in), tt.size)
		b := bodyOn(r, message.Chunked, -1, nil)
		_, err := io.ReadAll(&b)
		if small := errors.As(err, new(*ErrSmallBuffer)) && errors.As(err, new(ErrBrokenChunk)); small != tt.small || !small && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
