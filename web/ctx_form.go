package web

import (
	"errors"
	"mime/multipart"

	"github.com/gallop-http/gallop"
)

// MultipartForm parses the multipart form in the body and returns it. The server removes the form's temporary files after the
// handler has returned. If the body has a content coding such as gzip, the server's MaxRequestBodySize also limits the
// decompressed size. If the body is not a multipart form, the error is an [*Error] with status 415. Status 413 means that the
// body is too large. Status 500 means that a temporary file cannot be written, for example because the disk is full. All other
// errors of MultipartForm have status 400.
func (c *Ctx) MultipartForm() (form *multipart.Form, err error) {
	r := &c.request.Request
	limit := c.bodyLimit()
	if len(r.Header.ContentEncoding()) > 0 && limit > 0 {
		form, err = r.MultipartFormWithLimit(limit)
	} else {
		form, err = r.MultipartForm()
	}
	if errors.Is(err, gallop.ErrNoMultipartForm) && c.mediaType() != typeMultipart {
		return nil, errorWith(gallop.StatusUnsupportedMediaType, err)
	}
	if err != nil {
		return nil, bodyError(err)
	}
	return form, nil
}

// FormFile returns the first file that was uploaded under this name in a multipart form. If there is no such file, the error has
// status 400 and wraps [gallop.ErrMissingFile]. See [Ctx.MultipartForm] for the other errors.
func (c *Ctx) FormFile(name string) (*multipart.FileHeader, error) {
	form, err := c.MultipartForm()
	if err != nil {
		return nil, err
	}
	if files := form.File[name]; len(files) > 0 {
		return files[0], nil
	}
	return nil, errorWith(gallop.StatusBadRequest, gallop.ErrMissingFile)
}

// FormValue returns the first value of a field of the URL-encoded or multipart form in the body. If the value is missing or empty,
// FormValue returns the default, or "" if no default was given. For a malformed form, FormValue also returns the default. Unlike
// RequestCtx.FormValue, FormValue ignores the query.
func (c *Ctx) FormValue(name string, otherwise ...string) string {
	if c.mediaType() != typeMultipart {
		args, _ := c.postArgs()
		return textOr(args.Peek(name), otherwise)
	}
	if form, err := c.MultipartForm(); err == nil && len(form.Value[name]) > 0 && form.Value[name][0] != "" {
		return form.Value[name][0]
	}
	return textOr(nil, otherwise)
}

// postArgs returns the URL-encoded form in the body, with a content coding removed. It is empty if there is an error.
func (c *Ctx) postArgs() (*gallop.Args, error) {
	r := &c.request.Request
	if len(r.Header.ContentEncoding()) == 0 || c.mediaType() != typeForm {
		args := r.PostArgs()
		if err := r.BodyErr(); err != nil {
			return args, bodyError(err)
		}
		return args, nil
	}
	args := new(gallop.Args)
	body, err := c.BodyUncompressed()
	if err == nil {
		_ = args.ParseAtMost(body, c.maxArgs()) // Bind checks args.Err
	}
	return args, err
}

// SaveFile writes an uploaded file to the given path and overwrites an existing file. Do not build the path from file.Filename,
// because the client chose this name. If SaveFile fails, it leaves no partial file behind.
func (c *Ctx) SaveFile(file *multipart.FileHeader, path string) error {
	return gallop.SaveMultipartFile(file, path)
}
