package nethttp

import (
	"compress/gzip"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gallop-http/gallop"
)

// answer returns the response. The call ends at the end of its body. Request is not set.
func (c *call) answer() *http.Response {
	from := c.response
	h := &from.Header
	resp := &http.Response{
		StatusCode: from.StatusCode(),
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		TLS:   from.TLSConnectionState(),
		Close: h.ConnectionClose(),
	}
	resp.Status = strconv.Itoa(resp.StatusCode) + " " + string(h.StatusMessage())
	overH2 := string(h.Protocol()) == "HTTP/2.0"
	switch {
	case overH2:
		resp.Proto, resp.ProtoMajor, resp.ProtoMinor = "HTTP/2.0", 2, 0
		resp.Status += http.StatusText(resp.StatusCode)
	case !h.IsHTTP11():
		resp.Proto, resp.ProtoMinor = "HTTP/1.0", 0
	}
	chunked := len(h.Peek("Transfer-Encoding")) > 0
	resp.Header, resp.Trailer = receivedHeader(h.All(), h.Len(), chunked || overH2)
	if resp.Close && resp.ProtoMinor == 1 && !h.ConnectionUpgrade() {
		delete(resp.Header, "Connection") // resp.Close says the same
	}
	length := h.ContentLength()
	stream := from.BodyStream()
	if resp.ContentLength = int64(max(length, -1)); chunked {
		resp.TransferEncoding = []string{"chunked"}
	}
	if c.r.Method != http.MethodHead && stream == nil {
		resp.ContentLength = 0
	}
	switch stream := stream.(type) {
	case nil:
		resp.Body = http.NoBody
		c.end()
	case io.ReadWriteCloser:
		resp.Body, resp.ContentLength = &upgradedBody{stream, c}, 0
		if c.feeds != nil {
			go feed(stream, c.feeds)
		}
	default:
		resp.Body = &responseBody{c: c, stream: stream, resp: resp}
		c.decompress(resp)
	}
	return resp
}

// receivedHeader converts the header fields. It also returns the trailers that the header announces, or nil. Only bodies over
// HTTP/2 and chunked bodies have trailers.
func receivedHeader(all iter.Seq2[[]byte, []byte], n int, mayTrail bool) (h, trailers http.Header) {
	h = make(http.Header, n)
	size := 0
	for name, value := range all {
		size += len(name) + len(value)
	}
	var text text
	text.all.Grow(size)
	values := make([]string, 0, n)
	for name, value := range all {
		key := text.name(name)
		switch key {
		case "Transfer-Encoding":
			continue
		case "Trailer":
			if mayTrail {
				trailers = announced(trailers, string(value))
				continue
			}
		}
		values = append(values, text.add(value))
		if before, again := h[key]; again {
			h[key] = append(before, values[len(values)-1])
		} else {
			n := len(values)
			h[key] = values[n-1 : n : n]
		}
	}
	fixPragma(h)
	return h, trailers
}

// announced adds the names in the list to trailers, without those that are never trailers.
func announced(trailers http.Header, list string) http.Header {
	for name := range strings.SplitSeq(list, ",") {
		name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
		switch name {
		case "", "Content-Length", "Transfer-Encoding", "Trailer":
			continue
		}
		if trailers == nil {
			trailers = http.Header{}
		}
		trailers[name] = nil
	}
	return trailers
}

// decompress makes the body of resp decompress itself while it is read, if this package asked for gzip.
func (c *call) decompress(resp *http.Response) {
	if !c.unzip || !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength, resp.Uncompressed = -1, true
	resp.Body = &unzippedBody{ReadCloser: resp.Body}
}

// unzippedBody decompresses a gzip body. It reads nothing before the first Read.
type unzippedBody struct {
	io.ReadCloser
	r      *gzip.Reader
	err    error
	closed atomic.Bool
}

// Read implements io.Reader.
func (b *unzippedBody) Read(p []byte) (int, error) {
	if b.closed.Load() { // r may still have bytes
		return 0, http.ErrBodyReadAfterClose
	}
	if b.r == nil && b.err == nil {
		b.r, b.err = gzip.NewReader(b.ReadCloser)
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.r.Read(p)
}

// Close implements io.Closer.
func (b *unzippedBody) Close() error {
	b.closed.Store(true)
	return b.ReadCloser.Close()
}

// responseBody is the body of a response. Its end is the end of the call.
type responseBody struct {
	c      *call
	stream io.Reader // reads nothing from the connection after its end
	resp   *http.Response
}

// Read implements io.Reader.
func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.stream.Read(p)
	switch {
	case err == nil:
	case err == io.EOF:
		b.readTrailers()
		b.c.end()
	case err == gallop.ErrBodyClosed:
		err = http.ErrBodyReadAfterClose
	default:
		err = b.c.explain(err)
		b.c.end()
	}
	return n, err
}

// readTrailers copies the received trailers to the response.
func (b *responseBody) readTrailers() {
	b.c.mu.Lock()
	defer b.c.mu.Unlock()
	if b.c.response == nil {
		return
	}
	for name, value := range b.c.response.Header.AllTrailers() {
		if b.resp.Trailer == nil {
			b.resp.Trailer = http.Header{}
		}
		key := textproto.CanonicalMIMEHeaderKey(string(name))
		b.resp.Trailer[key] = append(b.resp.Trailer[key], string(value))
	}
}

// Close implements io.Closer. The connection is kept if the rest of the body is short and already there.
func (b *responseBody) Close() error {
	if closer, ok := b.stream.(io.Closer); ok {
		closer.Close()
	}
	b.c.end()
	return nil
}

// upgradedBody is the connection behind a 101.
type upgradedBody struct {
	io.ReadWriteCloser
	c *call
}

// feed copies the body of a CONNECT into its tunnel, until one of them ends.
func feed(tunnel io.Writer, body io.ReadCloser) {
	defer body.Close()
	io.Copy(tunnel, body)
}

// Close closes the connection.
func (b *upgradedBody) Close() error {
	err := b.ReadWriteCloser.Close()
	b.c.end()
	return err
}

// If the connection supports half-close, CloseWrite tells the server that no more bytes follow.
func (b *upgradedBody) CloseWrite() error {
	if c, ok := b.ReadWriteCloser.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("CloseWrite: %w", http.ErrNotSupported)
}
