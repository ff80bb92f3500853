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

// RespHeader returns the first value of a header of the response, or the default if there is no such header or it is empty.
func (c *Ctx) RespHeader(name string, otherwise ...string) string {
	return textOr(c.request.Response.Header.Peek(name), otherwise)
}

// Append adds members to a list in a field of the answer, which becomes one line. Those that are in it already, in
// whatever case, are left out. For Vary there is Vary, for cookies SetCookie.
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

// hasMember reports whether a list has a member, in whatever case.
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

// Location sets Location (RFC 9110 §10.2.2). Bytes that no reference has are escaped.
func (c *Ctx) Location(reference string) *Ctx {
	return c.SetHeader(gallop.HeaderLocation, escapeReference(reference))
}

// Link is a link from a response to another resource (RFC 8288).
type Link struct {
	URL string // a reference; bytes that may not stand in one are escaped
	Rel string // the relation of the resource, such as "next"
}

// Links adds links to the Link header (RFC 8288):
//
//	c.Links(web.Link{URL: "/items?page=2", Rel: "next"}, web.Link{URL: "/items?page=9", Rel: "last"})
func (c *Ctx) Links(links ...Link) *Ctx {
	list := make([]string, 0, len(links))
	for _, link := range links {
		list = append(list, "<"+escapeReference(link.URL)+">; rel="+quoted(link.Rel))
	}
	return c.Append(gallop.HeaderLink, list...)
}

// EarlyHints sends Link fields ahead of the answer, as 103 (RFC 8297): the values that are given and those
// there are. An HTTP/1.0 client is sent nothing.
func (c *Ctx) EarlyHints(links ...string) error {
	for _, link := range links {
		c.request.Response.Header.Add(gallop.HeaderLink, link)
	}
	return c.request.EarlyHints()
}

// Attachment tells the client to save the response instead of showing it (RFC 6266). The client saves it under filename, of
// which only the part behind the last slash counts; Content-Type becomes the type of the extension, if it has one. An empty
// filename leaves the name to the client.
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

// disposition returns the Content-Disposition for a name. What is not ASCII comes in UTF-8 besides (RFC 8187).
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

// escapeReference escapes what may not stand in a reference (RFC 3986 §2). Escapes stay what they are.
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

// ETag sets a strong entity tag (RFC 9110 §8.8.3). tag has no quotes around it. Spaces, quotes and control characters in it
// are left out.
func (c *Ctx) ETag(tag string) *Ctx { return c.SetHeader(gallop.HeaderETag, entityTag(tag)) }

// WeakETag sets a weak entity tag: responses with the same tag are equivalent but may differ in their bytes. See
// [Ctx.ETag].
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

// LastModified sets Last-Modified, unless t is zero.
func (c *Ctx) LastModified(t time.Time) *Ctx {
	if !t.IsZero() {
		c.request.Response.Header.SetLastModified(t)
	}
	return c
}

// Fresh reports whether the client has, by the conditions of a GET or HEAD request, what ETag and LastModified said before
// (RFC 9110 §13.2.2). The answer is NotModified then.
func (c *Ctx) Fresh() bool { return c.request.FailedCondition() == gallop.StatusNotModified }

// Stale is the opposite of Fresh.
func (c *Ctx) Stale() bool { return !c.Fresh() }

// NotModified sends 304 without what describes the body.
func (c *Ctx) NotModified() error {
	c.request.NotModified()
	return nil
}

// Precondition returns an error with the status 412 if the conditions of the request do not
// hold for what ETag and LastModified said before: for a handler that is about to change it
// (RFC 9110 §13.1).
func (c *Ctx) Precondition() error {
	if c.request.FailedCondition() == gallop.StatusPreconditionFailed {
		return NewError(gallop.StatusPreconditionFailed)
	}
	return nil
}

// ByteRange is a part of a representation: the positions of its first and its last byte.
type ByteRange struct{ Start, End int64 }

// maxRanges is how many parts Range returns.
const maxRanges = 32

// Range returns the parts that the request asks for of a representation of size bytes, in the order of the request (RFC
// 9110 §14.2). It returns no parts and no error if the client should get the whole representation, because the request
//
//   - is not a GET request or has no Range header,
//   - has a range in another unit or more than 32 ranges,
//   - has an If-Range header that does not match ETag or LastModified, which must be set before (§13.1.5).
//
// If no part lies within the representation, the error has the status 416, and Range sets Content-Range to the size. SendFile
// handles ranges by itself.
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

// parseRange reads a range, as "0-99", "100-" or "-100" (RFC 9110 §14.1.2). It is not ok if it is malformed or has no byte
// of the representation.
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
	case len(first) == 0: // the last bytes
		return ByteRange{size - end, size - 1}, end > 0
	case len(last) == 0:
		end = size - 1
	}
	return ByteRange{start, min(end, size-1)}, start < size && start <= end
}

// clippedInt returns the number that digits stand for, or limit if that is less. No digits are 0.
func clippedInt(digits []byte, limit int64) (n int64, ok bool) {
	for _, d := range digits {
		switch {
		case !isDigit(d):
			return 0, false
		case n > (math.MaxInt64-9)/10:
			n = math.MaxInt64 // from here on
		default:
			n = n*10 + int64(d-'0')
		}
	}
	return min(n, limit), true
}
