package web

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gallop-http/gallop"
)

// SendFile sends a file of the operating system with what belongs to it: type, size, time, entity tag,
// ranges, conditions, and the coding that the client prefers (gallop.ServeFile). The path must not be a
// client's; for those there are SendFS with an fs.FS that does not let go out of it, as os.Root's, and gallop.FS.
// SendFile returns ErrNotFound for what is no regular file, and for a path with an empty segment ("a//b"). A body that was set before is replaced, with its type and coding.
// Without one, a Content-Type that was set stays.
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

// SendFS is SendFile for a file in a file system.
func (c *Ctx) SendFS(fsys fs.FS, name string) error {
	info, err := fs.Stat(fsys, name)
	if err != nil || !info.Mode().IsRegular() {
		return noFile(err)
	}
	c.replaceBody()
	c.ownsType(func() { gallop.ServeFSLiteral(c.request, fsys, name) })
	return nil
}

// Download sends a file as SendFile does, and tells the client to save it under the file's own name.
func (c *Ctx) Download(file string) error { return c.DownloadAs(file, path.Base(file)) }

// DownloadAs sends a file as SendFile does, and tells the client to save it under filename. See [Ctx.Attachment].
func (c *Ctx) DownloadAs(file, filename string) error {
	c.replaceBody() // and not the type that is set now
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

// noFile is the error for what cannot be sent. err, which may be nil, is for the log.
func noFile(err error) error {
	return errorWith(gallop.StatusNotFound, err)
}
