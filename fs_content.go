package gallop

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"time"

	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/files"
	"github.com/gallop-http/gallop/internal/filetree"
)

// ServeContent responds with content. ServeContent evaluates the conditions and the Range header of the request (RFC
// 9110 §13.2.2, §14.2). As a result, the client gets the whole content, the requested ranges, or a 304, 412 or 416
// response.
//
// The handler may set the following before it calls ServeContent:
//
//   - Content-Type. By default, ServeContent derives the Content-Type from the extension of the argument name, or from
//     the first bytes of content.
//   - ETag. ServeContent compares the If-Match, If-None-Match and If-Range headers of the request with the ETag.
//   - Content-Encoding, if content is already compressed. ServeContent does not compress content.
//   - A status other than 200. ServeContent then ignores the request's conditions and Range header, and sends the whole
//     content.
//
// ServeContent sends modtime as Last-Modified. If modtime is in the future, ServeContent sends the current time
// instead. If modtime is zero or the Unix epoch, the response has no Last-Modified header.
//
// The server reads content after the handler has returned. The server reads content from its beginning, regardless of
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
	reader     io.Reader // at its start; closed by send or later; nil if the file is not open yet
	size       int64
	modified   time.Time     // zero if that is not known
	tag        string        // the entity tag without its quotes, "" if there is none
	weak       bool          // tag is weak
	ranges     bool          // reader is an io.Seeker, and parts of it may be asked for
	negotiated bool          // its coding depends on Accept-Encoding
	coding     coding.Coding // that reader has, or, with encode, that it is to be given
	encode     bool
	cached     *filetree.Variant // has the content instead of reader, or is nil
}

// newFileRepresentation returns the representation of a file. file is nil if it is not open.
func newFileRepresentation(name string, file fs.File, info fs.FileInfo) representation {
	r := representation{name: name, size: info.Size(), modified: info.ModTime()}
	if file != nil {
		r.reader = file
	}
	_, r.ranges = file.(io.Seeker)
	if files.HasTime(r.modified) {
		r.tag, r.weak = files.Tag(info)
	}
	return r
}

// tagContent gives a file that never changes a tag. name is the name of the file, or of a precompressed file. Such a file
// may have no modification time.
func (r *representation) tagContent(view *filetree.View, name string) (err error) {
	if r.tag == "" {
		r.tag, err = view.Hash(name)
	}
	return err
}

// open opens the file of r, unless it is open. The file may have changed since it was found.
func (r *representation) open(view *filetree.View) error {
	if r.reader != nil {
		return nil
	}
	file, info, err := view.Open(r.name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		file.Close()
		return fs.ErrNotExist
	}
	negotiated := r.negotiated
	*r = newFileRepresentation(r.name, file, info)
	r.negotiated = negotiated
	if err = r.tagContent(view, r.name); err != nil {
		r.close()
	}
	return err
}

// close closes what is to be sent.
func (r *representation) close() {
	switch {
	case r.cached != nil && r.cached.Shared != nil:
		r.cached.Shared.Close()
	case r.reader != nil:
		closeReader(r.reader)
	}
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
		if status := failedCondition(ctx, &valid); status != 0 {
			r.close()
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
		if ctx.IsGet() && valid.AllowsRange(ctx.Request.Header.PeekAll(HeaderIfRange)) && r.sendRanges(ctx) {
			return
		}
	}
	r.sendAll(ctx)
}

// describe sets the fields by which the representation is recognised, and returns them.
func (r *representation) describe(h *ResponseHeader) (v files.Validator) {
	v.Tag = bytes.Clone(h.Peek(HeaderETag))
	switch {
	case v.Tag == nil && r.cached != nil && r.cached.Tag != nil && !r.encode:
		v.Tag = r.cached.Tag
		h.setKnown(field.ETag, v.Tag)
	case v.Tag == nil && r.tag != "":
		v.Tag = strconv.AppendQuote(nil, r.tag)
		if r.weak {
			v.Tag = append([]byte("W/"), v.Tag...)
		}
		h.set(UnsafeBytes(HeaderETag), v.Tag)
	case files.IsStrong(v.Tag) && r.coding != coding.Identity:
		// The handler's is that of the resource. Strong ones differ by coding: RFC 9110 §8.8.3.3.
		v.Tag = append([]byte("W/"), v.Tag...)
		h.set(UnsafeBytes(HeaderETag), v.Tag)
	}
	v.Coarse = r.negotiated || r.weak
	switch {
	case r.cached != nil && r.cached.LastModified != nil:
		v.Modified = r.modified.Truncate(time.Second)
		h.setKnown(field.LastModified, r.cached.LastModified)
	case files.HasTime(r.modified):
		v.Modified = clock.Earlier(r.modified, time.Now()).Truncate(time.Second) // RFC 9110 §8.8.2.1
		h.SetLastModified(v.Modified)
	}
	return v
}

// setType sets Content-Type unless that is set.
func (r *representation) setType(h *ResponseHeader) error {
	if h.head.Fields.Has(field.ContentType) {
		return nil
	}
	if r.cached != nil {
		h.SetContentType(r.cached.Type)
		return nil
	}
	if t := files.TypeByName(r.name); t != "" {
		h.SetContentType(t)
		return nil
	}
	start, err := r.peek()
	if err == nil {
		h.SetContentType(files.TypeByContent(start))
	}
	return err
}

// peek returns the first bytes of the reader, which it leaves at its start.
func (r *representation) peek() ([]byte, error) {
	start := make([]byte, files.SniffBytes)
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
	if r.cached != nil {
		r.sendCached(ctx, files.Span{Length: r.size})
		return
	}
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
	spans, ignore := files.ParseSpans(lines[0], r.size)
	switch {
	case ignore:
		return false
	case len(spans) == 0:
		r.close()
		h.Set(HeaderContentRange, "bytes */"+strconv.FormatInt(r.size, 10))
		answerPlain(ctx, StatusRequestedRangeNotSatisfiable)
		return true
	}
	ctx.SetStatusCode(StatusPartialContent)
	if len(spans) > 1 {
		content := r.seeker()
		parts := files.NewMultipart(content, h.ContentType(), spans, r.size)
		h.SetContentType("multipart/byteranges; boundary=" + parts.Boundary)
		ctx.SetBodyStream(&ownedReader{parts.Reader, content}, streamSize(parts.Size))
		return true
	}
	h.set(UnsafeBytes(HeaderContentRange), files.AppendContentRange(nil, spans[0], r.size))
	if r.cached != nil {
		r.sendCached(ctx, spans[0])
		return true
	}
	ctx.SetBodyStream(section(r.seeker(), spans[0]), streamSize(spans[0].Length))
	return true
}

// section returns what reads one part of content and closes it.
func section(content io.ReadSeeker, span files.Span) io.Reader {
	if file, ok := content.(*os.File); ok {
		return &fileSection{file: file, at: span.Start, left: span.Length}
	}
	return &ownedReader{files.NewSection(content, span), content}
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
	r.close()
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

// FailedCondition evaluates the conditions of the request, such as If-None-Match (RFC 9110 §13.2.2). FailedCondition
// compares the conditions with the ETag and Last-Modified headers of ctx.Response. If a condition fails, the result is
// the status for the response: 304 or 412. If no condition fails, the result is 0.
func (ctx *RequestCtx) FailedCondition() int {
	v := responseValidator(&ctx.Response)
	return failedCondition(ctx, &v)
}

// AllowsRange reports whether the handler may respond with the ranges that the request asks for. The result is true
// only for a GET request with one Range header. If the request has an If-Range header, it must equal the ETag or
// Last-Modified header of ctx.Response (RFC 9110 §14.2). The matching ETag or Last-Modified header must be a strong
// validator (RFC 9110 §13.1.5).
func (ctx *RequestCtx) AllowsRange() bool {
	v := responseValidator(&ctx.Response)
	return ctx.IsGet() && len(ctx.Request.Header.PeekAll(HeaderRange)) == 1 && v.AllowsRange(ctx.Request.Header.PeekAll(HeaderIfRange))
}

// responseValidator returns the validator in the head of resp.
func responseValidator(resp *Response) files.Validator {
	v := files.Validator{Tag: resp.Header.Peek(HeaderETag)}
	if modified, err := ParseHTTPDate(resp.Header.Peek(HeaderLastModified)); err == nil {
		v.Modified = modified
	}
	return v
}

// failedCondition returns the status of the response, 304 or 412, if a condition of the request fails, and 0 if not.
func failedCondition(ctx *RequestCtx, v *files.Validator) int {
	h := &ctx.Request.Header
	lines := h.peeked[:0]
	peek := func(name string) [][]byte {
		from := len(lines)
		lines = h.appendPeeked(lines, name)
		return lines[from:]
	}
	conditions := files.Conditions{
		Match:           peek(HeaderIfMatch),
		UnmodifiedSince: peek(HeaderIfUnmodifiedSince),
		NoneMatch:       peek(HeaderIfNoneMatch),
		ModifiedSince:   peek(HeaderIfModifiedSince),
	}
	h.peeked = lines
	return v.Failed(&conditions, ctx.IsGet() || ctx.IsHead())
}

// ParseByteRange parses the value of a Range header with a single range, such as "bytes=0-99", "bytes=100-" or
// "bytes=-100" (RFC 9110 §14.1.2). The argument contentLength is the size of the content in bytes. ParseByteRange
// returns the positions of the first and the last requested byte within the content. If the range contains no byte of
// the content, ParseByteRange returns an error.
func ParseByteRange(byteRange []byte, contentLength int) (startPos, endPos int, err error) {
	return files.ParseByteRange(byteRange, contentLength)
}
