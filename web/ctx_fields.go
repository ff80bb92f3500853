package web

import (
	"bytes"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/negotiate"
)

// RespHeader returns the first value of a response header. If the value is missing or empty, RespHeader returns the default, or ""
// if no default was given.
func (c *Ctx) RespHeader(name string, otherwise ...string) string {
	return textOr(c.request.Response.Header.Peek(name), otherwise)
}

// Append adds members to a response header whose value is a list, such as Cache-Control, and returns c. If the header has several
// lines, Append joins them into one. Append skips members that are already in the list, regardless of case. For Vary, call
// [Ctx.Vary]; for cookies, call [Ctx.SetCookie].
func (c *Ctx) Append(name string, members ...string) *Ctx {
	h := &c.request.Response.Header
	list := bytes.Clone(joinLines(h.PeekAll(name)))
	for _, member := range members {
		if hasMember(list, member) {
			continue
		}
		if len(list) > 0 {
			list = append(list, ", "...)
		}
		list = append(list, member...)
	}
	if len(list) > 0 {
		h.Set(name, string(list))
	}
	return c
}

// hasMember reports whether a list has a member, regardless of case.
func hasMember(list []byte, member string) bool {
	for len(list) > 0 {
		end := memberEnd(list)
		if bytes.EqualFold(bytes.Trim(list[:end], " \t"), []byte(member)) {
			return true
		}
		list = list[min(end+1, len(list)):]
	}
	return false
}

// Location sets the Location header (RFC 9110 §10.2.2) and returns c. The method escapes bytes that are not allowed in a URI
// reference. Location does not set the status: see [Ctx.Redirect].
func (c *Ctx) Location(reference string) *Ctx {
	return c.SetHeader(gallop.HeaderLocation, escapeReference(reference))
}

// Link is a link from a response to another resource (RFC 8288).
type Link struct {
	// URL is the target of the link, absolute or relative. Links escapes bytes that are not allowed in a URI reference.
	URL string

	// Rel is the relation of the target to the response, such as "next". If Rel is empty, Links sends rel="".
	Rel string
}

// Links adds links to the Link header (RFC 8288) and returns c:
//
//	c.Links(web.Link{URL: "/items?page=2", Rel: "next"}, web.Link{URL: "/items?page=9", Rel: "last"})
func (c *Ctx) Links(links ...Link) *Ctx {
	list := make([]string, 0, len(links))
	for _, link := range links {
		list = append(list, "<"+escapeReference(link.URL)+">; rel="+quoted(link.Rel))
	}
	return c.Append(gallop.HeaderLink, list...)
}

// EarlyHints sends a 103 response (RFC 8297) with the Link header ahead of the final response. The client can then load the linked
// resources early. Each link is a value such as `</style.css>; rel=preload`. EarlyHints adds the links to the response's Link
// header, so the final response also has the links. The 103 response contains all values of the Link header, including values that
// the handler set earlier. EarlyHints sends nothing to an HTTP/1.0 client.
func (c *Ctx) EarlyHints(links ...string) error {
	for _, link := range links {
		c.request.Response.Header.Add(gallop.HeaderLink, link)
	}
	return c.request.EarlyHints()
}

// Attachment asks the client to save the response instead of showing it (RFC 6266), and returns c. The suggested name is the part
// of filename after the last slash. If the extension of the file name is known, Attachment sets the Content-Type to the media type
// of the extension. If filename is empty, the client chooses a name.
func (c *Ctx) Attachment(filename string) *Ctx {
	if filename == "" {
		return c.SetHeader(gallop.HeaderContentDisposition, "attachment")
	}
	name := path.Base(strings.ReplaceAll(filename, `\`, "/"))
	if t := negotiate.TypeByExtension(path.Ext(name)); t != "" {
		c.Type(path.Ext(name))
	}
	return c.SetHeader(gallop.HeaderContentDisposition, disposition(name))
}

// disposition returns the Content-Disposition for a file name. A name that is not plain ASCII is also sent in UTF-8 (RFC 8187).
func disposition(name string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || r == 0x7F:
			return -1
		case r > 0x7F:
			return '_'
		}
		return r
	}, name)
	text := "attachment; filename=" + quoted(plain)
	if plain == name {
		return text
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; isDigit(c) || isLetter(c) || strings.IndexByte("!#$&+-.^_`|~", c) >= 0 {
			b.WriteByte(c)
		} else {
			appendEscape(&b, c)
		}
	}
	return text + "; filename*=UTF-8''" + b.String()
}

// quoted returns a quoted string (RFC 9110 §5.6.4).
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// escapeReference escapes the bytes that a reference cannot have (RFC 3986 §2). It keeps existing escapes.
func escapeReference(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7F || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			appendEscape(&b, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func appendEscape(b *strings.Builder, c byte) {
	const hex = "0123456789ABCDEF"
	b.Write([]byte{'%', hex[c>>4], hex[c&15]})
}

// ETag sets a strong entity tag (RFC 9110 §8.8.3) and returns c. Pass the tag without quotes. ETag drops spaces, quotes and control
// characters from the tag. [Ctx.Fresh] and [Ctx.Precondition] compare the tag with the request.
func (c *Ctx) ETag(tag string) *Ctx { return c.SetHeader(gallop.HeaderETag, entityTag(tag)) }

// WeakETag sets a weak entity tag. Responses with the same weak tag are equivalent, but their bytes may differ. See [Ctx.ETag].
func (c *Ctx) WeakETag(tag string) *Ctx { return c.SetHeader(gallop.HeaderETag, "W/"+entityTag(tag)) }

// entityTag returns tag in quotes.
func entityTag(tag string) string {
	return `"` + strings.Map(func(r rune) rune {
		if r <= ' ' || r == '"' || r == 0x7F {
			return -1
		}
		return r
	}, tag) + `"`
}

// LastModified sets the Last-Modified header and returns c. If t is zero, LastModified does not change the header. HTTP dates have
// a resolution of one second.
func (c *Ctx) LastModified(t time.Time) *Ctx {
	if !t.IsZero() {
		c.request.Response.Header.SetLastModified(t)
	}
	return c
}

// Fresh reports whether the client's copy of the resource is current (RFC 9110 §13.2.2). Set the response's ETag and
// Last-Modified headers first, because Fresh compares them with the conditions of a GET or HEAD request. If Fresh returns true,
// respond with NotModified:
//
//	if c.ETag(version).Fresh() {
//		return c.NotModified()
//	}
func (c *Ctx) Fresh() bool { return c.request.FailedCondition() == gallop.StatusNotModified }

// Stale reports whether the client needs a new copy of the resource. The method is the opposite of [Ctx.Fresh].
func (c *Ctx) Stale() bool { return !c.Fresh() }

// NotModified sends status 304 without a body and without headers that describe a body. NotModified always returns nil.
func (c *Ctx) NotModified() error {
	c.request.NotModified()
	return nil
}

// Precondition returns an error with status 412 if the conditions of the request, such as If-Match, do not hold (RFC 9110 §13.1).
// Precondition compares the conditions with the response's ETag and Last-Modified headers, so set these headers first. Call
// Precondition before you change the resource, so that one client does not overwrite another client's changes.
func (c *Ctx) Precondition() error {
	if c.request.FailedCondition() == gallop.StatusPreconditionFailed {
		return NewError(gallop.StatusPreconditionFailed)
	}
	return nil
}

// ByteRange is a range of bytes in a file or other representation. The range has End - Start + 1 bytes.
type ByteRange struct {
	// Start is the offset of the first byte of the range. Offsets begin at 0.
	Start int64

	// End is the offset of the last byte that belongs to the range.
	End int64
}

// maxRanges is the largest number of parts that Range returns.
const maxRanges = 32

// Range returns the byte ranges that the request asks for, in the order of the request (RFC 9110 §14.2). The size argument is the
// length of the whole representation in bytes. Send the ranges with status 206. If Range returns no ranges and no error, send the
// whole representation. Range returns no ranges and no error if the request
//
//   - is not a GET request or has no Range header,
//   - has a range in a unit other than bytes, or more than 32 ranges,
//   - has an If-Range header that does not match the response's ETag or Last-Modified header (§13.1.5).
//
// Set ETag and Last-Modified before you call Range. If none of the requested ranges lies within the representation, the error has
// status 416. Range then also sets a Content-Range header with the size. [Ctx.SendFile] handles ranges itself.
func (c *Ctx) Range(size int64) (parts []ByteRange, err error) {
	if !c.request.AllowsRange() {
		return nil, nil
	}
	unit, list, ok := bytes.Cut(c.ReqHeaderBytes(gallop.HeaderRange), []byte("="))
	if !ok || !bytes.EqualFold(unit, []byte("bytes")) || bytes.Count(list, []byte(",")) >= maxRanges {
		return nil, nil
	}
	for len(list) > 0 {
		one, rest, _ := bytes.Cut(list, []byte(","))
		list = rest
		if part, ok := parseRange(bytes.Trim(one, " \t"), size); ok {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		c.SetHeader(gallop.HeaderContentRange, "bytes */"+strconv.FormatInt(size, 10))
		return nil, NewError(gallop.StatusRequestedRangeNotSatisfiable)
	}
	return parts, nil
}

// parseRange reads a range such as "0-99", "100-" or "-100" (RFC 9110 §14.1.2). ok is false if the range is malformed or has no
// byte of the representation.
func parseRange(text []byte, size int64) (r ByteRange, ok bool) {
	first, last, found := bytes.Cut(text, []byte("-"))
	if !found || len(first)+len(last) == 0 {
		return r, false
	}
	start, startOK := clippedInt(first, size)
	end, endOK := clippedInt(last, size)
	switch {
	case !startOK || !endOK:
		return r, false
	case len(first) == 0: // a suffix of the representation
		return ByteRange{size - end, size - 1}, end > 0
	case len(last) == 0:
		end = size - 1
	}
	return ByteRange{start, min(end, size-1)}, start < size && start <= end
}

// clippedInt returns the value of a decimal number, but at most limit. An empty number is 0.
func clippedInt(digits []byte, limit int64) (n int64, ok bool) {
	for _, d := range digits {
		switch {
		case !isDigit(d):
			return 0, false
		case n > (math.MaxInt64-9)/10:
			n = math.MaxInt64 // the next digits keep it there
		default:
			n = n*10 + int64(d-'0')
		}
	}
	return min(n, limit), true
}
