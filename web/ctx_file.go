package web

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/gallop-http/gallop"
)

// SendFile sends a file from the operating system's file system. SendFile sets Content-Type, Last-Modified and ETag, and it
// handles ranges, conditional requests and content codings: see [gallop.ServeFile].
//
// The path must not come from a client. To serve paths that clients choose, use gallop.FS. You can also call SendFS with a file
// system that confines paths, such as the result of os.Root.FS.
//
// The error has status 404 if the path is not a regular file or has an empty segment, as in "a//b". The status is 403 if the program
// may not open the file. If the response already has a
// body, SendFile replaces the body and its Content-Type and Content-Encoding. If the response has no body, SendFile keeps a
// Content-Type that was set before.
func (c *Ctx) SendFile(path string) error {
	return c.sendFile(func() error { return gallop.TryServeFile(c.request, path) }, func() (fs.FileInfo, error) { return os.Stat(path) })
}

// sendFile calls send. If there is a body, which send would replace, sendFile first looks whether there is a file.
func (c *Ctx) sendFile(send func() error, stat func() (fs.FileInfo, error)) (err error) {
	if c.hasBody() {
		if info, err := stat(); err != nil || !info.Mode().IsRegular() {
			return noFile(err)
		}
		c.replaceBody()
	}
	c.ownsType(func() { err = send() })
	if err != nil {
		return noFile(err)
	}
	return nil
}

// SendFS sends a file from a file system, for example an embed.FS. See [Ctx.SendFile].
func (c *Ctx) SendFS(fsys fs.FS, name string) error {
	return c.sendFile(func() error { return gallop.TryServeFS(c.request, fsys, name) }, func() (fs.FileInfo, error) { return fs.Stat(fsys, name) })
}

// Download sends a file with [Ctx.SendFile] and asks the client to save it under the file's own name.
func (c *Ctx) Download(file string) error { return c.DownloadAs(file, path.Base(file)) }

// DownloadAs sends a file with [Ctx.SendFile] and asks the client to save it under filename. See [Ctx.Attachment].
func (c *Ctx) DownloadAs(file, filename string) error {
	c.replaceBody() // before the type is set, because it removes the type of an old body
	set := ""
	if c.hasType() {
		set = string(c.presentType())
	}
	if c.Attachment(filename); set != "" {
		c.Type(set)
	}
	err := c.SendFile(file)
	if err != nil {
		c.request.Response.Header.Del(gallop.HeaderContentDisposition)
	}
	return err
}

// noFile returns the error for a file that cannot be sent. err is the cause and may be nil.
func noFile(err error) error {
	status := gallop.StatusNotFound
	switch {
	case errors.Is(err, fs.ErrPermission):
		status = gallop.StatusForbidden
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EIO):
		status = gallop.StatusInternalServerError
	}
	return errorWith(status, err)
}
