package web

import (
	"bytes"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/negotiate"
)

// GetRespHeader returns the first value of a field of the answer, or the default if it has none or it is
// empty.
func (c *Ctx) GetRespHeader(name string, otherwise ...string) string {
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
	return c.Set(gallop.HeaderLocation, escapeReference(reference))
}

// Links adds links to Link (RFC 8288). pairs are references and their relations, by turns:
//
//	c.Links("/items?page=2", "next", "/items?page=9", "last")
func (c *Ctx) Links(pairs ...string) *Ctx {
	var links []string
	for i := 0; i+1 < len(pairs); i += 2 {
		links = append(links, "<"+escapeReference(pairs[i])+">; rel="+quoted(pairs[i+1]))
	}
	return c.Append(gallop.HeaderLink, links...)
}

// EarlyHints sends Link fields ahead of the answer, as 103 (RFC 8297): the values that are given and those
// there are. An HTTP/1.0 client is sent nothing.
func (c *Ctx) EarlyHints(links ...string) error {
	for _, link := range links {
		c.request.Response.Header.Add(gallop.HeaderLink, link)
	}
	return c.request.EarlyHints()
}

// Attachment makes the answer one that is saved and not shown (RFC 6266). With a name, of which only what is behind the
// last slash counts, it is saved under this, and Content-Type is what its extension stands for.
func (c *Ctx) Attachment(filename ...string) *Ctx {
	if len(filename) == 0 || filename[0] == "" {
		return c.Set(gallop.HeaderContentDisposition, "attachment")
	}
	name := path.Base(strings.ReplaceAll(filename[0], `\`, "/"))
	if t := negotiate.TypeByExtension(path.Ext(name)); t != "" {
		c.Type(path.Ext(name))
	}
	return c.Set(gallop.HeaderContentDisposition, disposition(name))
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

// ETag sets the entity tag of the answer (RFC 9110 §8.8.3); the quotes are not part of tag. What a tag may
// not have in it is left out.
func (c *Ctx) ETag(tag string, weak ...bool) *Ctx {
	tag = `"` + strings.Map(func(r rune) rune {
		if r <= ' ' || r == '"' || r == 0x7F {
			return -1
		}
		return r
	}, tag) + `"`
	if len(weak) > 0 && weak[0] {
		tag = "W/" + tag
	}
	return c.Set(gallop.HeaderETag, tag)
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

// ByteRange is a part of a content: its first and its last byte.
type ByteRange struct{ Start, End int }

// maxRanges is how many parts Range returns.
const maxRanges = 32

// Range returns the parts of a content of this size that the request asks for, in its order
// (RFC 9110 §14.2); none if it asks for all, in another unit, or for more than 32 parts, if it is no GET, or if
// its If-Range (§13.1.5) does not have what ETag or LastModified said before. If none lies within the
// content the error has the status 416, and the answer says the size. SendFile does all this by itself.
func (c *Ctx) Range(size int) (parts []ByteRange, err error) {
	if !c.request.AllowsRange() {
		return nil, nil
	}
	unit, list, ok := bytes.Cut(c.GetBytes(gallop.HeaderRange), []byte("="))
	if !ok || !bytes.EqualFold(unit, []byte("bytes")) || bytes.Count(list, []byte(",")) >= maxRanges {
		return nil, nil
	}
	for len(list) > 0 {
		one, rest, _ := bytes.Cut(list, []byte(","))
		list = rest
		first, last, err := gallop.ParseByteRange(append([]byte("bytes="), bytes.Trim(one, " \t")...), size)
		if err == nil {
			parts = append(parts, ByteRange{first, last})
		}
	}
	if len(parts) == 0 {
		c.Set(gallop.HeaderContentRange, "bytes */"+strconv.Itoa(size))
		return nil, NewError(gallop.StatusRequestedRangeNotSatisfiable)
	}
	return parts, nil
}
