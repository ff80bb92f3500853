package gallop

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// This file has the settings of the file server. The other files of its family:
//
//	fs_handler.go       takes a request from its path to a file or directory
//	fs_path.go          turns paths into names and refuses what has none
//	fs_windowsnames.go  says which names are refused on Windows
//	fs_content.go       sends a content
//	fs_conditions.go    decides by the conditions of a request whether to send it
//	fs_ranges.go        decides which parts of it to send
//	fs_coding.go        chooses the content coding
//	fs_types.go         finds the media type
//	fs_tag.go           makes entity tags, with fs_ctime*.go for the time of a change
//	fs_listing.go       lists directories
//	fs_serve.go         sends single files

// FS serves the files of a directory, or of an fs.FS. The zero value serves the working
// directory, each file under its name and in full.
//
// It answers GET and HEAD, and others with 405. Files have Last-Modified and an entity
// tag, and the conditions of a request are evaluated (RFC 9110 §13). The tag is made of
// time and size, and of the time of the inode's last change where the modification time
// is in whole seconds. It is weak for two seconds after a change. Several machines that
// serve copies of a tree whose times are in whole seconds give them different tags, unless
// the handler sets ETag before. A directory whose path lacks the slash at its end is
// redirected to the one with it.
//
// Nothing outside Root is served. The path is ctx.Path(), the same one that routers and guards
// compare. A path that has an empty segment all the same, because a PathRewrite made one or
// path normalizing is disabled, names no file. Paths with a backslash or a NUL byte are refused. So
// are, on Windows, names that stand for a drive, a stream, a device or another name, such as
// "a.txt::$DATA", "nul.txt" and "GIT~1". Symbolic links are followed as long as they are relative
// and stay in Root, as os.Root has it; others are not there. A file that is neither a regular
// one nor a directory is not there, either. An fs.FS has its own policy.
//
// An FS must not be copied, nor changed once NewRequestHandler was called.
type FS struct {
	_ noCopy

	// FS is where files come from, for example an embed.FS. With nil it is the
	// directory Root.
	FS fs.FS

	// Root is the directory that is served, or the directory in FS if that is set.
	// The default is the working directory, and the whole of FS. It is opened for
	// each request, so that it may be replaced. If it is a file and FS is nil, that is
	// served for the path "/", and nothing else is there.
	Root string

	// AllowEmptyRoot makes an empty Root the whole file system instead, of the current
	// volume on Windows. All symbolic links are followed then.
	AllowEmptyRoot bool

	// IndexNames are the names of files that are served for the directory they are
	// in, in order of preference. A name with an empty segment ("a//b") names no file. By
	// default a directory has no index.
	IndexNames []string

	// GenerateIndexPages answers with a list of its files for a directory without a
	// file of IndexNames. The default is 403.
	GenerateIndexPages bool

	// HideDotfiles hides files and directories whose names begin with a dot: they are not
	// found, with everything below them, and not listed. ".well-known" (RFC 8615) is never
	// hidden. A link is hidden by its own name, not by that of its target. The default is
	// to serve dotfiles.
	HideDotfiles bool

	// AcceptByteRange answers Range with the parts that are asked for, if they are at
	// most 32 and do not overlap (RFC 9110 §14). The default is to ignore it.
	AcceptByteRange bool

	// PathRewrite makes the path that is looked up, which need not be that of the
	// request. A guard should compare the path that it returns. The default is ctx.Path().
	PathRewrite PathRewriteFunc

	// PathNotFound answers where there is no file. The status is 404 already. The
	// default is a line of text.
	PathNotFound RequestHandler

	// Compress sends files that gain from it in gzip coding to clients that accept it:
	// what is in the file with the name and ".gz" behind it, or a suffix as
	// below, unless that is older or empty, and else, up to 1 MiB and without Range, compressed
	// in memory, unless the handler has set Cache-Control: no-transform or Content-Encoding:
	// identity. The same holds for lists of directories. Nothing is written to disk. Where
	// the handler has set a digest of the file, that is sent as it is.
	Compress bool

	// CompressBrotli and CompressZstd add br and zstd to what Compress does, with ".br"
	// and ".zst". Of codings that a client likes equally, br comes before zstd before gzip.
	CompressBrotli bool
	CompressZstd   bool

	// CompressRoot is the directory in which compressed files are looked for, under
	// the same path. The default is Root.
	CompressRoot string

	// CompressedFileSuffix is another suffix of files in gzip coding. The default is
	// FSCompressedFileSuffix.
	CompressedFileSuffix string

	// CompressedFileSuffixes are other suffixes by coding: "gzip", "br", "zstd". The
	// default is FSCompressedFileSuffixes.
	CompressedFileSuffixes map[string]string

	// CacheDuration, SkipCache and CleanStop have no effect.
	//
	// Deprecated: no file is kept open beyond its response, so there is nothing to clean up.
	CacheDuration time.Duration
	SkipCache     bool
	CleanStop     chan struct{}
}

// FSCompressedFileSuffix is the default of FS.CompressedFileSuffix, the one that fasthttp
// gives the files it compresses.
const FSCompressedFileSuffix = ".fasthttp.gz"

// FSCompressedFileSuffixes is the default of FS.CompressedFileSuffixes. It must not be changed once
// anything is served: set FS.CompressedFileSuffixes instead.
var FSCompressedFileSuffixes = map[string]string{
	"gzip": FSCompressedFileSuffix,
	"br":   ".fasthttp.br",
	"zstd": ".fasthttp.zst",
}

// FSHandlerCacheDuration is how long fasthttp keeps a file open by default.
//
// Deprecated: FS.CacheDuration has no effect.
const FSHandlerCacheDuration = 10 * time.Second

// CacheKind is a type that fasthttp exports.
//
// Deprecated: nothing takes or returns a CacheKind.
type CacheKind uint8

// NewRequestHandler returns a handler that serves the files of f.
func (f *FS) NewRequestHandler() RequestHandler {
	h := &fileHandler{
		rewrite: f.PathRewrite,
		missing: f.PathNotFound,
		indexes: f.IndexNames,
		list:    f.GenerateIndexPages,
		hide:    f.HideDotfiles,
		ranges:  f.AcceptByteRange,
		codings: f.codings(),
		files:   f.tree(f.Root),
	}
	if h.coded = h.files; f.CompressRoot != "" {
		h.coded = f.tree(f.CompressRoot)
	}
	return h.serve
}

// tree returns what opens the tree below root.
func (f *FS) tree(root string) fileTree {
	switch {
	case f.FS != nil:
		sub, err := fs.Sub(f.FS, cleanRoot(root))
		return fileTree{files: sub, err: err}
	case root == "" && f.AllowEmptyRoot:
		return fileTree{files: os.DirFS("/")}
	}
	dir, err := filepath.Abs(root)
	return fileTree{dir: dir, err: err}
}

// fileTree is where files come from: a directory, or files.
type fileTree struct {
	dir   string
	files fs.FS
	err   error // why there are none
}

// open returns the files. Close them.
func (t *fileTree) open() (openTree, error) {
	if t.err != nil || t.files != nil {
		return openTree{FS: t.files}, t.err
	}
	root, err := os.OpenRoot(t.dir)
	if err == nil {
		return openTree{FS: root.FS(), root: root}, nil
	}
	if info, e := os.Stat(t.dir); e != nil || !info.Mode().IsRegular() {
		return openTree{}, err
	}
	dir, file := filepath.Split(t.dir)
	if root, err = os.OpenRoot(dir); err != nil {
		return openTree{}, err
	}
	return openTree{FS: root.FS(), root: root, only: file}, nil
}

type openTree struct {
	fs.FS
	root *os.Root
	only string // the name of the one file there is, or ""
}

// find returns the name of what has that name below the root.
func (t *openTree) find(name string) (string, error) {
	switch {
	case t.only == "":
		return name, nil
	case name == ".":
		return t.only, nil
	}
	return "", fs.ErrNotExist
}

func (t *openTree) close() {
	if t.root != nil {
		t.root.Close()
	}
}

// openFile opens a regular file or a directory; what is neither does not exist. It asks
// first what the file is: opening a pipe would wait.
func (t *openTree) openFile(name string) (fs.File, fs.FileInfo, error) {
	info, err := fs.Stat(t.FS, name)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := t.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if info, err = file.Stat(); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fs.ErrNotExist // and has not been what it is for long
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// FSHandler returns a handler that serves the files below root, with index.html, a
// list of files for directories without one, and ranges. stripSlashes is how many leading
// segments of the path are left out, as NewPathSlashesStripper does.
func FSHandler(root string, stripSlashes int) RequestHandler {
	f := &FS{
		Root:               root,
		IndexNames:         []string{"index.html"},
		GenerateIndexPages: true,
		AcceptByteRange:    true,
	}
	if stripSlashes > 0 {
		f.PathRewrite = NewPathSlashesStripper(stripSlashes)
	}
	return f.NewRequestHandler()
}
