package web

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"
	"github.com/gallop-http/gallop/negotiate"
)

// The media types of what the methods below send, and of forms.
const (
	typeText = "text/plain; charset=utf-8"
	typeHTML = "text/html; charset=utf-8"
	typeJSON = "application/json"
	typeXML  = "application/xml"

	typeForm      = "application/x-www-form-urlencoded"
	typeMultipart = "multipart/form-data"
)

// Status sets the status code of the response. Like the WriteHeader of net/http, it panics unless the status has three digits.
func (c *Ctx) Status(status int) *Ctx {
	if status < 100 || status > 999 {
		panic("web: status code " + strconv.Itoa(status) + " does not have three digits")
	}
	c.request.SetStatusCode(status)
	return c
}

// SetHeader sets a header of the response and replaces one with this name, except Set-Cookie: cookies are added. Line breaks in
// the value become spaces. A name that is no token (RFC 9110 §5.1) is refused; the mistake is logged, once for each name.
func (c *Ctx) SetHeader(name, value string) *Ctx {
	c.request.Response.Header.Set(name, value)
	return c
}

// Type sets the Content-Type: a media type such as "text/csv; charset=utf-16", or a short name such as "json" or ".html",
// with parameters or without. Text under a short name is UTF-8 unless there are parameters. Methods that send a body keep
// this type, except SSE, AutoFormat and a later Format, which choose their own.
func (c *Ctx) Type(mediaType string) *Ctx {
	t := fullType(mediaType)
	if name, parameters, ok := strings.Cut(mediaType, ";"); ok && strings.IndexByte(name, '/') < 0 {
		t, _, _ = strings.Cut(fullType(strings.TrimRight(name, " \t")), ";")
		t += ";" + parameters
	}
	c.request.SetContentType(t)
	c.chosenType = c.chosenType[:0]
	return c
}

// Vary adds names of request headers to Vary: those that the response depends on.
func (c *Ctx) Vary(names ...string) *Ctx {
	h := &c.request.Response.Header
	lines := h.PeekAll(gallop.HeaderVary)
	switch {
	case len(names) == 0:
	case len(lines) == 0 && len(names) == 1:
		h.Set(gallop.HeaderVary, names[0])
	case len(lines) == 1 && len(names) == 1 && string(lines[0]) == names[0]:
	default:
		h.Set(gallop.HeaderVary, string(negotiate.AppendVary(nil, joinLines(lines), names...)))
	}
	return c
}

// Send sends bytes, which are copied. Content-Type stays what it is, octets by default.
func (c *Ctx) Send(body []byte) error {
	c.request.SetBody(body)
	return nil
}

// SendString sends text. Its Content-Type is text/plain in UTF-8 unless one was set.
func (c *Ctx) SendString(text string) error { return c.sendText(typeText, text) }

// HTML sends HTML as it is: what comes from elsewhere has to be escaped. Its Content-Type is text/html in UTF-8 unless one was set.
func (c *Ctx) HTML(text string) error { return c.sendText(typeHTML, text) }

func (c *Ctx) sendText(mediaType, text string) error {
	c.chooseType(mediaType)
	c.request.SetBodyString(text)
	return nil
}

// JSON sends v as JSON. Its Content-Type is that of the codec, application/json by default, unless one was set, such as
// application/vnd.api+json. If v cannot be encoded, nothing is sent.
func (c *Ctx) JSON(v any) error {
	json := c.app.codecs.json
	return c.sendEncoded(json, json.ContentType(), v)
}

// XML sends v as XML. Its Content-Type is that of the codec, application/xml in UTF-8 by default, unless one was set. If v
// cannot be encoded, nothing is sent.
func (c *Ctx) XML(v any) error {
	xml := c.app.codecs.xml
	return c.sendEncoded(xml, xml.ContentType(), v)
}

// Encode sends v in the format of a media type, which may have parameters: as a codec of Config.Codecs encodes it, as JSON or as
// XML. The media type becomes the Content-Type unless one was set. If there is no codec, or v cannot be encoded, nothing is
// sent.
func (c *Ctx) Encode(mediaType string, v any) error {
	codec, _ := c.app.codecs.find(mediaType)
	if codec == nil {
		name, _, _ := strings.Cut(mediaType, ";")
		codec, _ = c.app.codecs.find(strings.ToLower(strings.Trim(name, " \t")))
	}
	if codec == nil {
		return fmt.Errorf("web: there is no codec for %s", mediaType)
	}
	return c.sendEncoded(codec, mediaType, v)
}

func (c *Ctx) sendEncoded(codec codec.Codec, mediaType string, v any) error {
	c.request.ResetBody()
	if err := codec.Encode(c.request.Response.BodyWriter(), v); err != nil {
		c.request.ResetBody()
		return err
	}
	c.chooseType(mediaType)
	return nil
}

// dropBody takes back the body, and the fields that say how its bytes are to be read: another one would be misread.
// A Content-Range that says only the size stays: it belongs to a 416.
func (c *Ctx) dropBody() {
	c.request.ResetBody()
	h := &c.request.Response.Header
	for _, name := range [...]string{
		gallop.HeaderContentEncoding, gallop.HeaderContentLength, "Content-Digest", "Repr-Digest", "Digest", "Content-MD5",
	} {
		h.Del(name)
	}
	if !bytes.HasPrefix(h.Peek(gallop.HeaderContentRange), []byte("bytes */")) {
		h.Del(gallop.HeaderContentRange)
	}
}

// replaceBody is dropBody for something of another type, if there is a body.
func (c *Ctx) replaceBody() {
	if c.hasBody() {
		c.dropBody()
		c.forgetType()
	}
}

func (c *Ctx) hasBody() bool {
	r := &c.request.Response
	return r.IsBodyStream() || len(r.Body()) > 0
}

// SendStatus sends a status, and its message with SendString if such a response has a body. A body that was set before is
// replaced, with its type and coding.
func (c *Ctx) SendStatus(status int) error {
	replaces := c.hasBody()
	c.dropBody()
	c.Status(status)
	if status < 200 || status == gallop.StatusNoContent || status == gallop.StatusResetContent || status == gallop.StatusNotModified {
		return nil
	}
	if replaces {
		c.forgetType()
	}
	return c.SendString(gallop.StatusMessage(status))
}
