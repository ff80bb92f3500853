package serve

import (
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/gallop-http/gallop"
)

// files returns what serves the directory. The directory is opened once: what is
// put in its place later is not served.
func (s *site) files() (gallop.RequestHandler, error) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, err
	}
	s.root = root
	files := root.FS()
	if !s.Hidden {
		files = visible{files}
	}
	f := &gallop.FS{
		FS:                 files,
		GenerateIndexPages: true,
		AcceptByteRange:    true,
		Compress:           s.Compress,
		CompressBrotli:     s.Compress,
		CompressZstd:       s.Compress,
	}
	if !s.NoIndex {
		f.IndexNames = []string{"index.html"}
	}
	serve := f.NewRequestHandler()
	return func(ctx *gallop.RequestCtx) {
		serve(ctx)
		ctx.Response.Header.Set(gallop.HeaderXContentTypeOptions, "nosniff")
	}, nil
}

// visible is a file system without the names that begin with a dot.
type visible struct{ files fs.FS }

func (v visible) Open(name string) (fs.File, error) {
	if isHidden(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := v.files.Open(name)
	if err != nil {
		return nil, err
	}
	// A file stays what it is, so that the system can send it by itself.
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return f, nil
	}
	if d, ok := f.(fs.ReadDirFile); ok {
		return visibleDir{d}, nil
	}
	return f, nil
}

func (v visible) Stat(name string) (fs.FileInfo, error) {
	if isHidden(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return fs.Stat(v.files, name)
}

// isHidden reports whether a segment of name, which is valid for io/fs, begins with a dot.
func isHidden(name string) bool {
	return name != "." && (name[0] == '.' || strings.Contains(name, "/."))
}

type visibleDir struct{ fs.ReadDirFile }

// ReadDir returns at least one entry with n > 0, as io/fs wants it, or an error.
func (d visibleDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		entries, err := d.ReadDirFile.ReadDir(n)
		return seen(entries), err
	}
	var list []fs.DirEntry
	for len(list) < n {
		entries, err := d.ReadDirFile.ReadDir(n - len(list))
		list = append(list, seen(entries)...)
		if err != nil {
			if len(list) > 0 && err == io.EOF {
				err = nil
			}
			return list, err
		}
	}
	return list, nil
}

func seen(entries []fs.DirEntry) []fs.DirEntry {
	list := entries[:0]
	for _, e := range entries {
		if !isHidden(e.Name()) {
			list = append(list, e)
		}
	}
	return list
}
