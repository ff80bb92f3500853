package web

import (
	"bytes"
	"errors"
	"io/fs"
	"mime"
	"strings"

	"github.com/gallop-http/gallop"
)

// BodyUncompressed returns the body of the request, decompressed if it has a content coding such as gzip. If the body has no
// content coding, the returned slice is valid only until the handler returns. The server's MaxRequestBodySize also limits the
// decompressed size. If the body is too large, the error is an *Error with status 413. Status 415 means an unknown content
// coding. All other errors of BodyUncompressed have status 400.
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

// bodyLimit returns how many bytes a decoded body may have. Zero or a negative value leaves the limit to package gallop.
func (c *Ctx) bodyLimit() int {
	if n := c.app.config.Server.MaxRequestBodySize; n != 0 {
		return n
	}
	return gallop.DefaultMaxRequestBodySize
}

// maxArgs returns how many arguments a query or a form may have. Zero means unlimited.
func (c *Ctx) maxArgs() int {
	if n := c.app.config.Server.MaxFormArgs; n != 0 {
		return max(n, 0)
	}
	return defaultMaxArgs
}

// bodyError gives an error of reading a body its status. An *fs.PathError is not the client's fault: a temporary file of a form could
// not be written, for example because the disk is full.
func bodyError(err error) error {
	status := gallop.StatusBadRequest
	var file *fs.PathError
	switch {
	case errors.As(err, &file):
		status = gallop.StatusInternalServerError
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

// mediaType returns the type of the request's body in lower case, without parameters. It allocates no string for common types.
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

// MediaType returns the Content-Type of the request in lower case and without parameters, or "" if the request has no
// Content-Type.
func (c *Ctx) MediaType() string { return c.mediaType() }

// Charset returns the charset parameter of the request's Content-Type in lower case, or "" if the parameter is missing.
func (c *Ctx) Charset() string {
	_, params, err := mime.ParseMediaType(c.ReqHeader(gallop.HeaderContentType))
	if err != nil {
		return ""
	}
	return strings.ToLower(params["charset"])
}

// Is reports whether the request's Content-Type matches mediaType. The mediaType argument is a media type, a short
// name such as "json", or a range such as "image/*". Parameters of the Content-Type are ignored. If mediaType is JSON, types
// with the suffix +json also match, such as application/problem+json. If mediaType is XML, types with the suffix +xml also
// match.
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
