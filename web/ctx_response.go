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

// Media types of responses and of forms.
const (
	typeText = "text/plain; charset=utf-8"
	typeHTML = "text/html; charset=utf-8"
	typeJSON = "application/json"
	typeXML  = "application/xml"

	typeForm      = "application/x-www-form-urlencoded"
	typeMultipart = "multipart/form-data"
)

// Status sets the status code of the response and returns c. The default is 200. Like WriteHeader in net/http, Status panics if the
// status is below 100 or above 999.
func (c *Ctx) Status(status int) *Ctx {
	if status < 100 || status > 999 {
		panic("web: status code " + strconv.Itoa(status) + " does not have three digits")
	}
	c.request.SetStatusCode(status)
	return c
}

// SetHeader sets a response header and returns c. SetHeader replaces an existing header of the same name. The exception is
// Set-Cookie: each call adds another Set-Cookie header. Line breaks in the value become spaces. SetHeader ignores a name that
// is not a token (RFC 9110 §5.1), and logs each such name once.
func (c *Ctx) SetHeader(name, value string) *Ctx {
	c.request.Response.Header.Set(name, value)
	return c
}

// Type sets the Content-Type of the response and returns c. The mediaType argument is a media type such as "text/csv;
// charset=utf-16", or a short name such as "json" or ".html". A short name of a text format, such as "html", implies UTF-8, unless
// parameters follow the name. A later call of SSE, AutoFormat or Format replaces the Content-Type. All other methods that send a
// body keep a Content-Type that was set before.
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

// Vary adds names to the Vary header and returns c. Pass the names of the request headers that the response depends on. A cache
// compares the request headers in Vary before it reuses the response. Vary skips names that are already in the header.
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

// Send sends a copy of its argument as the response body. Send does not choose a Content-Type: see [Ctx.Type]. Send always returns
// nil.
func (c *Ctx) Send(body []byte) error {
	c.request.SetBody(body)
	return nil
}

// SendString sends its argument as plain text. The Content-Type is text/plain in UTF-8 unless another Content-Type was set.
// SendString always returns nil.
func (c *Ctx) SendString(text string) error { return c.sendText(typeText, text) }

// HTML sends its argument as HTML, without escaping. Escape text that comes from users, or call [Ctx.Render]. The Content-Type is
// text/html in UTF-8 unless another Content-Type was set. The method always returns nil.
func (c *Ctx) HTML(text string) error { return c.sendText(typeHTML, text) }

func (c *Ctx) sendText(mediaType, text string) error {
	c.chooseType(mediaType)
	c.request.SetBodyString(text)
	return nil
}

// JSON sends v as JSON. The codec chooses the Content-Type, by default application/json. JSON keeps a Content-Type that was
// set before, such as application/vnd.api+json. If v cannot be encoded, JSON returns an error and sends nothing.
func (c *Ctx) JSON(v any) error {
	json := c.app.codecs.json
	return c.sendEncoded(json, json.ContentType(), v)
}

// XML sends v as XML. The codec chooses the Content-Type, by default application/xml in UTF-8. XML keeps a Content-Type that was
// set before. If v cannot be encoded, XML returns an error and sends nothing.
func (c *Ctx) XML(v any) error {
	xml := c.app.codecs.xml
	return c.sendEncoded(xml, xml.ContentType(), v)
}

// Encode sends v in the format of a media type: JSON, XML, or a format of Config.Codecs. The media type may have parameters.
// Encode sends the media type as the Content-Type, unless a Content-Type was set before. If there is no codec for the media type,
// or v cannot be encoded, Encode returns an error and sends nothing.
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

// dropBody removes the body and the headers that describe its bytes, which would be wrong for another body. A Content-Range that
// gives only the size stays, because it belongs to a 416.
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

// replaceBody removes a body that was set, and its Content-Type, to make room for a body of another type.
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

// SendStatus sets a status and sends its standard text, such as "Not Found", with SendString. If the status does not allow a body,
// as with 204 and 304, SendStatus sends no body. SendStatus replaces a body that was set before, with its Content-Type and
// Content-Encoding. SendStatus panics if the status is below 100 or above 999. SendStatus always returns nil.
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
