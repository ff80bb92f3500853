package messages_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// SwapBody hands over what was there, whatever it was.
func TestSwapBody(t *testing.T) {
	var b gallop.Request
	b.SetBodyRaw([]byte("raw"))
	old := b.SwapBody([]byte("second"))
	if string(old) != "raw" || string(b.Body()) != "second" {
		t.Errorf("swapped %q for %q", old, b.Body())
	}
	b.SetBodyStream(strings.NewReader("stream"), -1)
	if old = b.SwapBody(nil); string(old) != "stream" || len(b.Body()) != 0 {
		t.Errorf("swapped %q for %q", old, b.Body())
	}
}

// The chunks are the pieces that are read, whatever a stream would write.
func TestChunksAreWhatIsRead(t *testing.T) {
	var resp gallop.Response
	resp.SetBodyStream(struct {
		io.Reader
		unwrittenTo
	}{Reader: strings.NewReader("abc")}, -1)
	if got := resp.String(); !strings.HasSuffix(got, "\r\n\r\n3\r\nabc\r\n0\r\n\r\n") {
		t.Errorf("%q", got)
	}
}

// unwrittenTo has a WriteTo that is not to be called.
type unwrittenTo struct{}

func (unwrittenTo) WriteTo(io.Writer) (int64, error) { panic("written") }

func TestMessageConnectionClose(t *testing.T) {
	var req gallop.Request
	var resp gallop.Response
	if req.ConnectionClose() || resp.ConnectionClose() {
		t.Error("a new message closes")
	}
	req.SetConnectionClose()
	resp.SetConnectionClose()
	if !req.ConnectionClose() || !resp.ConnectionClose() {
		t.Error("SetConnectionClose does not show")
	}
}

// A stream that was taken is not the response's to close, and nothing is left of it.
func TestTakeBodyStream(t *testing.T) {
	var resp gallop.Response
	resp.SetBodyString("plain")
	if r, size := resp.TakeBodyStream(); r != nil || size != -1 || string(resp.Body()) != "plain" {
		t.Errorf("%v %d %q", r, size, resp.Body())
	}
	file := &wiretest.CountingCloser{Reader: strings.NewReader("stream")}
	resp.SetBodyStream(file, 6)
	r, size := resp.TakeBodyStream()
	if r != io.Reader(file) || size != 6 || resp.IsBodyStream() || len(resp.Body()) > 0 {
		t.Errorf("%v %d %q", r, size, resp.Body())
	}
	if resp.Reset(); file.Closed > 0 {
		t.Error("closed")
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
		var resp gallop.Response
		if err := resp.Read(bufio.NewReader(strings.NewReader(head))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%.60q: %v", head, err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%.60q: %d bytes allocated", head, n)
		}
	}
}
