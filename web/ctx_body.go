package web

import (
	"bytes"
	"errors"
	"mime"
	"strings"

	"github.com/gallop-http/gallop"
)

// BodyUncompressed returns the body without its content coding, which is a view if it has none. It may have as many bytes
// as one that came without. Errors have a status: 413, 415 for an unknown coding, or 400.
func (c *Ctx) BodyUncompressed() (body []byte, err error) {
	r := &c.request.Request
	if len(r.Header.ContentEncoding()) == 0 {
		body, err = r.Body(), r.BodyErr()
	} else if limit := c.bodyLimit(); limit > 0 {
		body, err = r.BodyUncompressedWithLimit(limit)
	} else {
		body, err = r.BodyUncompressed()
	}
	if err != nil {
		return nil, bodyError(err)
	}
	return body, nil
}

// bodyLimit is how many bytes a body may have once it is decoded; not positive is as many as
// the root allows.
func (c *Ctx) bodyLimit() int {
	if n := c.app.config.Server.MaxRequestBodySize; n != 0 {
		return n
	}
	return gallop.DefaultMaxRequestBodySize
}

// maxArgs returns how many arguments a query or a form may have. Zero means that there is no limit.
func (c *Ctx) maxArgs() int {
	if n := c.app.config.Server.MaxFormArgs; n != 0 {
		return max(n, 0)
	}
	return defaultMaxArgs
}

// bodyError gives an error of reading a body its status.
func bodyError(err error) error {
	status := gallop.StatusBadRequest
	switch {
	case errors.Is(err, gallop.ErrBodyTooLarge):
		status = gallop.StatusRequestEntityTooLarge
	case errors.Is(err, gallop.ErrContentEncodingUnsupported):
		status = gallop.StatusUnsupportedMediaType
	}
	return errorWith(status, err)
}

// hasForm reports whether the body is a form.
func (c *Ctx) hasForm() bool {
	t := c.mediaType()
	return t == typeForm || t == typeMultipart
}

// mediaType returns the type of the request's body in lower case, without parameters. It makes
// no string of those that are known.
func (c *Ctx) mediaType() string {
	t, _, _ := bytes.Cut(c.request.Request.Header.ContentType(), []byte(";"))
	t = bytes.Trim(t, " \t")
	for _, known := range [...]string{typeJSON, typeForm, typeMultipart} {
		if len(t) == len(known) && bytes.EqualFold(t, []byte(known)) {
			return known
		}
	}
	return strings.ToLower(string(t))
}

// MediaType returns the type of the request's body, in lower case and without parameters, "" if there is none.
func (c *Ctx) MediaType() string { return c.mediaType() }

// Charset returns the charset that the type of the request's body names, in lower case, "" if it names none.
func (c *Ctx) Charset() string {
	_, params, err := mime.ParseMediaType(c.ReqHeader(gallop.HeaderContentType))
	if err != nil {
		return ""
	}
	return strings.ToLower(params["charset"])
}

// Is reports whether the request's body is of a type: a media type, a short name for one, as "json", or
// all of a kind, as "image/*". JSON and XML are also what has them as a suffix, as application/problem+json.
func (c *Ctx) Is(mediaType string) bool {
	have, want := c.mediaType(), fullType(mediaType)
	want, _, _ = strings.Cut(strings.ToLower(want), ";")
	if kind, ok := strings.CutSuffix(want, "/*"); ok {
		first, _, _ := strings.Cut(have, "/")
		return first == kind
	}
	format := strings.TrimPrefix(want, "application/")
	return have == want || (format == "json" || format == "xml") && strings.HasSuffix(have, "+"+format)
}
