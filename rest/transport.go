package rest

import (
	"compress/gzip"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gallop-http/gallop"
)

// transport makes one exchange, without redirects, and returns the response once its header has arrived.
type transport interface {
	roundTrip(*exchange) (*Response, error)
	closeIdle()
}

// maxResponseHead is the maximum size of a response head in bytes.
const maxResponseHead = 256 << 10

// gallopTransport sends requests through a gallop.Client.
type gallopTransport struct{ client *gallop.Client }

func newGallopTransport(g *gallop.Client) gallopTransport {
	if g == nil {
		g = &gallop.Client{NoDefaultUserAgentHeader: true, DialDualStack: true, MaxConnWaitTimeout: -1,
			MaxResponseHeaderBytes: maxResponseHead, DetailedErrors: true}
	}
	return gallopTransport{g}
}

func (t gallopTransport) roundTrip(x *exchange) (*Response, error) {
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	unzip, err := x.fill(req)
	if err == nil {
		resp.StreamBody = true
		err = t.client.DoContext(x.ctx, req, resp)
	}
	gallop.ReleaseRequest(req)
	if err != nil {
		gallop.ReleaseResponse(resp)
		return nil, redactCall(err)
	}
	return x.received(resp, unzip), nil
}

func (t gallopTransport) closeIdle() { t.client.CloseIdleConnections() }

// fill sets req to the request of the exchange. unzip reports whether this package itself asked for gzip.
func (x *exchange) fill(req *gallop.Request) (unzip bool, err error) {
	h := &req.Header
	h.SetNoDefaultContentType(true)
	h.SetMethod(x.method)
	req.SetRequestURI(x.to.String())
	req.URI().DisablePathNormalizing = true // the path goes out as it is
	x.headers.each(foldName, func(name string, values []string) bool {
		for _, value := range values {
			h.Add(name, value)
		}
		return true
	})
	added := x.auth.added()
	for i, name := range added.names {
		h.Set(name, added.values[i])
	}
	if unzip = !x.has("Accept-Encoding") && !x.has("Range") && x.method != "HEAD"; unzip {
		h.Set("Accept-Encoding", "gzip")
	}
	if x.body == nil || x.body.empty() {
		return unzip, nil
	}
	if x.body.source == nil {
		req.SetBodyRaw(x.body.data)
		return unzip, nil
	}
	src, err := x.body.open()
	if err != nil {
		return unzip, err
	}
	length := int(x.body.length)
	if int64(length) != x.body.length { // an int of 32 bits
		length = -1
	}
	req.SetBodyStream(src, length)
	return unzip, nil
}

// received returns the Response for from, which is released when the body is closed.
func (x *exchange) received(from *gallop.Response, unzip bool) *Response {
	resp := &Response{StatusCode: from.StatusCode(), Protocol: protocolOf(from), method: x.method, url: x.to}
	resp.headers = receivedFields(&from.Header)
	stream := from.BodyStream()
	if stream == nil || x.method == "HEAD" {
		gallop.ReleaseResponse(from)
		resp.empty()
		return resp
	}
	resp.length = int64(max(from.Header.ContentLength(), -1))
	resp.native.from.Store(from)
	resp.native.stream = stream
	resp.cut, _ = stream.(io.Closer)
	resp.Body = &resp.native
	if unzip && strings.EqualFold(resp.Header("Content-Encoding"), "gzip") {
		resp.headers.del("Content-Encoding", foldName)
		resp.headers.del("Content-Length", foldName)
		resp.length = -1
		resp.Body = &unzipped{src: &resp.native}
	}
	return resp
}

// protocolOf returns the protocol of a response. The usual ones allocate nothing.
func protocolOf(resp *gallop.Response) string {
	switch p := resp.Header.Protocol(); string(p) {
	case "HTTP/1.1":
		return "HTTP/1.1"
	case "HTTP/2.0":
		return "HTTP/2.0"
	default:
		return string(p)
	}
}

// receivedFields copies the headers with two allocations, and one more if a repeated name is not contiguous.
func receivedFields(h *gallop.ResponseHeader) (f fields) {
	n, size := 0, 0
	for name, value := range h.All() {
		n++
		size += len(name) + len(value)
	}
	f = roomFor(n)
	var text strings.Builder
	text.Grow(size)
	cut := func(b []byte) string {
		from := text.Len()
		text.Write(b)
		return text.String()[from:]
	}
	for name, value := range h.All() {
		f.add(cut(name), cut(value), foldName)
	}
	return f
}

// nativeBody is the body of a gallop.Response, and releases that response when it is closed. It may be closed
// concurrently with a Read, and more than once: closing the stream ends a Read that waits.
type nativeBody struct {
	from   atomic.Pointer[gallop.Response] // nil when it was given back
	stream io.Reader
}

// Read implements io.Reader.
func (b *nativeBody) Read(p []byte) (int, error) {
	if b.from.Load() == nil {
		return 0, gallop.ErrBodyClosed
	}
	n, err := b.stream.Read(p)
	if err != nil && err != io.EOF {
		err = redactCall(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *nativeBody) Close() error {
	from := b.from.Swap(nil)
	if from == nil {
		return nil
	}
	err := from.CloseBodyStream()
	gallop.ReleaseResponse(from)
	return err
}

var gzipReaders sync.Pool

// unzipped is a gzip body that is decompressed while it is read. It may be closed concurrently with a Read.
type unzipped struct {
	src  io.ReadCloser
	idle int // how many bytes of src were read since the last decompressed byte

	mu  sync.Mutex
	z   *gzip.Reader
	err error
}

// Read implements io.Reader.
func (u *unzipped) Read(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.z == nil && u.err == nil {
		u.open()
	}
	if u.err != nil {
		return 0, u.err
	}
	n, err := u.z.Read(p)
	if n > 0 {
		u.idle = 0
	}
	u.err = err
	return n, err
}

// maxIdle limits how many bytes of a gzip body may decompress to nothing. WithMaxBody does not stop empty gzip
// members.
const maxIdle = 1 << 20

// zippedBody is what an unzipped body is read from.
type zippedBody struct{ *unzipped }

// Read implements io.Reader.
func (z zippedBody) Read(p []byte) (int, error) {
	if z.idle > maxIdle {
		return 0, errEmptyGzip
	}
	n, err := z.src.Read(p)
	z.idle += n
	return n, err
}

func (u *unzipped) open() {
	if z, ok := gzipReaders.Get().(*gzip.Reader); ok {
		if u.err = z.Reset(zippedBody{u}); u.err == nil {
			u.z = z
		}
		return
	}
	u.z, u.err = gzip.NewReader(zippedBody{u})
}

// Close implements io.Closer.
func (u *unzipped) Close() error {
	err := u.src.Close() // which ends a Read that waits
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.z != nil {
		gzipReaders.Put(u.z)
		u.z = nil
	}
	u.err = gallop.ErrBodyClosed
	return err
}
