package gallop

import (
	"bytes"
	"io"
	"os"
	"path"
	"strconv"
	"time"

	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
)

// ServeContent responds with content. ServeContent evaluates the conditions and the Range header of the request (RFC
// 9110 §13.2.2, §14.2). Depending on the conditions and the Range header, the response is the whole content, the
// requested ranges, or a 304, 412 or 416 response.
//
// The handler may set the following before it calls ServeContent:
//
//   - Content-Type. By default, ServeContent derives the Content-Type from the extension of name, or from the first
//     bytes of content.
//   - ETag. ServeContent compares If-Match, If-None-Match and If-Range with the ETag.
//   - Content-Encoding, if content is already compressed. ServeContent does not compress content.
//   - A status other than 200. With any status except 200, ServeContent ignores the request's conditions and Range
//     header, and sends the whole content.
//
// ServeContent sends modtime as Last-Modified. If modtime is in the future, ServeContent sends the current time
// instead. If modtime is zero or the Unix epoch, the response has no Last-Modified header.
//
// The server reads content after the handler has returned. Reading starts at the beginning of content, regardless of
// the current position. If content is an io.Closer, the server closes content after reading.
func ServeContent(ctx *RequestCtx, name string, modtime time.Time, content io.ReadSeeker) {
	size, err := content.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err != nil {
		closeReader(content)
		ctx.Logger().Printf("cannot find the size of what is to be sent: %v", err)
		ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
		return
	}
	c := representation{name: name, reader: content, size: size, modified: modtime, ranges: true}
	c.send(ctx)
}

// representation is what is to be sent, and what is known of it.
type representation struct {
	name       string    // by whose extension the type is found
	reader     io.Reader // at its start; closed by send or later
	size       int64
	modified   time.Time     // zero if that is not known
	tag        string        // the entity tag without its quotes, "" if there is none
	weak       bool          // tag is weak
	ranges     bool          // reader is an io.Seeker, and parts of it may be asked for
	negotiated bool          // its coding depends on Accept-Encoding
	coding     coding.Coding // that reader has, or, with encode, that it is to be given
	encode     bool
}

// send fills ctx.Response with the representation in the form that the request asks for.
func (r *representation) send(ctx *RequestCtx) {
	h := &ctx.Response.Header
	if r.negotiated {
		ctx.Response.noteVaries()
	}
	valid := r.describe(h)
	plain := ctx.Response.StatusCode() != StatusOK
	if !plain {
		status := valid.failedCondition(&ctx.Request.Header, ctx.IsGet() || ctx.IsHead())
		if status != 0 {
			closeReader(r.reader)
			answerCondition(ctx, status)
			return
		}
	}
	if err := r.setType(h); err != nil {
		r.fail(ctx, err)
		return
	}
	if r.encode {
		r.sendEncoded(ctx)
		return
	}
	if r.coding != coding.Identity {
		h.SetContentEncoding(r.coding.String())
	}
	if r.ranges && !plain {
		h.Set(HeaderAcceptRanges, "bytes")
		if ctx.IsGet() && valid.allowsRange(&ctx.Request.Header) && r.sendRanges(ctx) {
			return
		}
	}
	r.sendAll(ctx)
}

// describe sets the fields by which the representation is recognised, and returns them.
func (r *representation) describe(h *ResponseHeader) (v validator) {
	v.tag = bytes.Clone(h.Peek(HeaderETag))
	switch {
	case v.tag == nil && r.tag != "":
		v.tag = strconv.AppendQuote(nil, r.tag)
		if r.weak {
			v.tag = append([]byte("W/"), v.tag...)
		}
		h.set(UnsafeBytes(HeaderETag), v.tag)
	case len(v.tag) > 0 && v.tag[0] == '"' && r.coding != coding.Identity:
		// The handler's is that of the resource. Strong ones differ by coding: RFC 9110 §8.8.3.3.
		v.tag = append([]byte("W/"), v.tag...)
		h.set(UnsafeBytes(HeaderETag), v.tag)
	}
	v.coarse = r.negotiated || r.weak
	if hasTime(r.modified) {
		v.modified = earlier(r.modified, time.Now()).Truncate(time.Second) // RFC 9110 §8.8.2.1
		h.SetLastModified(v.modified)
	}
	return v
}

// setType sets Content-Type unless that is set.
func (r *representation) setType(h *ResponseHeader) error {
	if h.head.Fields.Has(field.ContentType) {
		return nil
	}
	if t := typeByName(r.name); t != "" {
		h.SetContentType(t)
		return nil
	}
	start, err := r.peek()
	if err == nil {
		h.SetContentType(typeByContent(start))
	}
	return err
}

// peek returns the first bytes of the reader, which it leaves at its start.
func (r *representation) peek() ([]byte, error) {
	start := make([]byte, typeByContentBytes)
	n, err := io.ReadFull(r.reader, start)
	if start = start[:n]; err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	if seeker, ok := r.reader.(io.Seeker); ok && err == nil {
		_, err = seeker.Seek(0, io.SeekStart)
	} else {
		r.reader = &resumed{start: start, rest: r.reader}
	}
	return start, err
}

// resumed is a stream of which start was read already.
type resumed struct {
	start []byte
	rest  io.Reader
}

func (s *resumed) Read(p []byte) (int, error) {
	if len(s.start) > 0 {
		n := copy(p, s.start)
		s.start = s.start[n:]
		return n, nil
	}
	return s.rest.Read(p)
}

func (s *resumed) Close() error { return closeReader(s.rest) }

// sendAll sends as much as there was when the size was asked for: a file may have grown since.
func (r *representation) sendAll(ctx *RequestCtx) {
	body := r.reader
	switch from := body.(type) {
	case *os.File:
		body = &fileSection{file: from, left: r.size}
	case io.WriterTo: // which knows its end, as bytes.Reader does
	default:
		body = &ownedReader{io.LimitReader(from, r.size), from}
	}
	ctx.SetBodyStream(body, streamSize(r.size))
}

// sendEncoded sends the representation in its coding, made in memory, or as it is if it
// does not get smaller by that.
func (r *representation) sendEncoded(ctx *RequestCtx) {
	resp := &ctx.Response
	r.sendAll(ctx)
	if resp.Body(); resp.BodyErr() != nil {
		r.fail(ctx, resp.BodyErr())
		return
	}
	if resp.encodeBytes(r.coding, fileLevel(r.coding)) {
		resp.Header.SetContentEncoding(r.coding.String())
		resp.Header.Del(HeaderContentLength) // of the file
	}
}

// sendRanges sends the parts that are asked for, or says that there are none. It
// reports false if no parts are asked for.
func (r *representation) sendRanges(ctx *RequestCtx) bool {
	lines := ctx.Request.Header.PeekAll(HeaderRange)
	if len(lines) != 1 {
		return false
	}
	h := &ctx.Response.Header
	spans, ignore := parseSpans(lines[0], r.size)
	switch {
	case ignore:
		return false
	case len(spans) == 0:
		closeReader(r.reader)
		h.Set(HeaderContentRange, "bytes */"+strconv.FormatInt(r.size, 10))
		answerPlain(ctx, StatusRequestedRangeNotSatisfiable)
		return true
	}
	content := r.reader.(io.ReadSeeker)
	ctx.SetStatusCode(StatusPartialContent)
	if len(spans) > 1 {
		parts := newMultipartSpans(content, h.ContentType(), spans, r.size)
		h.SetContentType("multipart/byteranges; boundary=" + parts.boundary)
		ctx.SetBodyStream(&ownedReader{parts.Reader, content}, streamSize(parts.size))
		return true
	}
	h.set(UnsafeBytes(HeaderContentRange), appendContentRange(nil, spans[0], r.size))
	body, err := section(content, spans[0])
	if err != nil {
		r.fail(ctx, err)
		return true
	}
	ctx.SetBodyStream(body, streamSize(spans[0].length))
	return true
}

// section returns what reads one part of content and closes it.
func section(content io.ReadSeeker, span byteSpan) (io.Reader, error) {
	if file, ok := content.(*os.File); ok {
		_, err := file.Seek(span.start, io.SeekStart)
		return &fileSection{file: file, left: span.length}, err
	}
	return &ownedReader{&seekSection{content: content, start: span.start, left: span.length}, content}, nil
}

// ownedReader closes what it reads from.
type ownedReader struct {
	io.Reader
	from io.Reader
}

func (r *ownedReader) Close() error { return closeReader(r.from) }

func closeReader(r io.Reader) error {
	if c, ok := r.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (r *representation) fail(ctx *RequestCtx, err error) {
	closeReader(r.reader)
	ctx.Logger().Printf("cannot read %q: %v", path.Base(r.name), err)
	ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
}

// answerCondition answers a request whose conditions say so with 304 or 412.
func answerCondition(ctx *RequestCtx, status int) {
	if status != StatusNotModified {
		answerPlain(ctx, status)
		return
	}
	ctx.NotModified()
	if h := &ctx.Response.Header; h.Peek(HeaderETag) != nil {
		h.Del(HeaderLastModified) // which the tag makes superfluous: RFC 9110 §15.4.5
	}
}

// answerPlain answers with a status in words, and leaves the fields that are not
// about the body.
func answerPlain(ctx *RequestCtx, status int) {
	ctx.SetStatusCode(status)
	ctx.Response.Header.dropCoding()
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(StatusMessage(status))
}
