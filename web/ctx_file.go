package web

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gallop-http/gallop"
)

// SendFile sends a file from the operating system's file system. SendFile sets Content-Type, Last-Modified and ETag, and it
// handles ranges, conditional requests and content codings: see [gallop.ServeFile].
//
// The path must not come from a client. To serve paths that clients choose, use gallop.FS. You can also call SendFS with a file
// system that confines paths, such as the result of os.Root.FS.
//
// The error has status 404 if the path is not a regular file or has an empty segment, as in "a//b". If the response already has a
// body, SendFile replaces the body and its Content-Type and Content-Encoding. If the response has no body, SendFile keeps a
// Content-Type that was set before.
func (c *Ctx) SendFile(path string) error {
	if strings.Contains(path[len(filepath.VolumeName(path)):], "//") {
		return noFile(nil)
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return noFile(err)
	}
	c.replaceBody()
	c.ownsType(func() { gallop.ServeFileLiteral(c.request, path) })
	return nil
}

// SendFS sends a file from a file system, for example an embed.FS. See [Ctx.SendFile].
func (c *Ctx) SendFS(fsys fs.FS, name string) error {
	info, err := fs.Stat(fsys, name)
	if err != nil || !info.Mode().IsRegular() {
		return noFile(err)
	}
	c.replaceBody()
	c.ownsType(func() { gallop.ServeFSLiteral(c.request, fsys, name) })
	return nil
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
	return errorWith(gallop.StatusNotFound, err)
}
