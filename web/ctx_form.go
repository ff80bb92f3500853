package web

import (
	"errors"
	"mime/multipart"

	"github.com/gallop-http/gallop"
)

// MultipartForm returns the multipart form in the body. Its files are removed when the handler has
// returned. A body in a content coding may have as many bytes as one without. Errors have a status:
// 415 if the body is no such form, 413 or 400.
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

// FormFile returns the first file that was uploaded under this name. The error is that of MultipartForm, or
// gallop.ErrMissingFile with the status 400.
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

// FormValue returns the first value of a name in a form in the body, of either kind, or the default if
// there is no such value or it is empty. Unlike RequestCtx.FormValue it never looks into the query.
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

// postArgs returns the form in the body that is no multipart one, out of its content coding. It is empty if there is an error.
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
		_ = args.ParseAtMost(body, c.maxArgs()) // Bind looks at Err
	}
	return args, err
}

// SaveFile writes an uploaded file to a path, which must not be the client's: its Filename is.
func (c *Ctx) SaveFile(file *multipart.FileHeader, path string) error {
	return gallop.SaveMultipartFile(file, path)
}
