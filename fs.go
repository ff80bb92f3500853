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

// FS serves the files of a directory or of an fs.FS. The zero value serves the working directory, without index
// files, listings or compression.
//
// FS serves GET and HEAD, and responds with 405 to other methods. Responses have Last-Modified and an entity tag. FS
// evaluates conditional requests (RFC 9110 §13). A request for a directory without the final slash is redirected to
// the path with the slash.
//
// The entity tag is derived from the file's modification time and size. If the modification time is in whole seconds,
// the tag also depends on the time of the inode's last change. Machines that serve copies of the same files may then
// produce different tags. To avoid that, set ETag before FS runs. The tag is weak for two seconds after a change.
//
// FS serves nothing outside Root. It looks up ctx.Path(), the same path that routers and access checks use. FS
// responds with 404 to these paths:
//
//   - a path with an empty segment, which only a PathRewrite or disabled path normalizing can produce
//   - a path with a backslash
//   - on Windows, a path that names a drive, a stream or a device, or that contains a short name, such as
//     "a.txt::$DATA", "nul.txt" and "GIT~1"
//
// A path with a NUL byte gets 400 (Bad Request).
//
// As in os.Root, symbolic links are followed if they are relative and stay within Root. Clients get 404 for all other
// links, and for anything that is neither a regular file nor a directory. An fs.FS decides for itself which links to
// follow.
//
// Do not copy an FS, and do not change it after calling NewRequestHandler.
type FS struct {
	_ noCopy

	// FS is the source of the files, for example an embed.FS. If it is nil, FS serves files from the directory Root.
	FS fs.FS

	// Root is the directory to serve, or the directory in FS if FS is set. If Root is empty, FS serves the working
	// directory, or all of the field FS. Root is opened for each request, so the directory can be replaced at
	// runtime. If Root is a regular file and the field FS is nil, only that file is served, for the path "/".
	Root string

	// AllowEmptyRoot makes an empty Root mean the whole file system, or the current volume on Windows. All symbolic
	// links are then followed.
	AllowEmptyRoot bool

	// IndexNames are the names of index files, in order of preference. A request for a directory gets the first index
	// file that the directory contains. A name with an empty segment, such as "a//b", is ignored. By default
	// directories have no index file.
	IndexNames []string

	// GenerateIndexPages lists the files of a directory that has no index file. By default, a request for such a
	// directory gets 403 (Forbidden).
	GenerateIndexPages bool

	// HideDotfiles hides files and directories whose names begin with a dot. Requests for them, and for anything in
	// hidden directories, get 404. Directory listings omit them. ".well-known" (RFC 8615) is never hidden. A link is
	// hidden by its own name, not by the name of its target. By default dotfiles are served.
	HideDotfiles bool

	// AcceptByteRange serves the ranges that a Range header asks for, if there are at most 32 ranges and they do not
	// overlap (RFC 9110 §14). By default, Range is ignored.
	AcceptByteRange bool

	// PathRewrite returns the path to look up, which may differ from the request's path. Access checks must use the
	// path that PathRewrite returns. The default is ctx.Path().
	PathRewrite PathRewriteFunc

	// PathNotFound builds the response if there is no file. The status is set to 404 before PathNotFound is called.
	// By default, the response is a line of text.
	PathNotFound RequestHandler

	// Compress sends compressible files with gzip coding to clients that accept it. If there is a precompressed file,
	// FS sends that file. Its name is the file's name with ".gz" or CompressedFileSuffix appended, and it must be
	// neither empty nor older than the file. Otherwise FS compresses files of up to 1 MiB in memory, unless the
	// client requests ranges or the handler has set Cache-Control: no-transform. Directory listings are compressed
	// too. Nothing is written to disk.
	//
	// A file is sent uncompressed if the handler has set Content-Encoding or a header with a digest of the file.
	Compress bool

	// CompressBrotli adds br to the codings that Compress uses. Precompressed files have the suffix ".br".
	// CompressBrotli has no effect without Compress. If the client has no preference, FS prefers br to zstd, and zstd
	// to gzip.
	CompressBrotli bool

	// CompressZstd adds zstd to the codings that Compress uses. Precompressed files have the suffix ".zst".
	// CompressZstd has no effect without Compress.
	CompressZstd bool

	// CompressRoot is the directory that contains the precompressed files, under the same paths as in Root. The
	// default is Root.
	CompressRoot string

	// CompressedFileSuffix is a suffix for files precompressed with gzip, which FS tries after ".gz". The default is
	// FSCompressedFileSuffix.
	CompressedFileSuffix string

	// CompressedFileSuffixes are additional suffixes of precompressed files. The keys are "gzip", "br" and "zstd". An
	// entry for "gzip" takes precedence over CompressedFileSuffix. The default is FSCompressedFileSuffixes.
	CompressedFileSuffixes map[string]string

	// CacheDuration has no effect.
	//
	// Deprecated: no file is kept open beyond its response.
	CacheDuration time.Duration

	// SkipCache has no effect, because no file is kept open beyond its response.
	SkipCache bool

	// CleanStop has no effect, because there is nothing to clean up.
	CleanStop chan struct{}
}

// FSCompressedFileSuffix is the default of FS.CompressedFileSuffix. fasthttp gives this suffix to files that it
// compresses.
const FSCompressedFileSuffix = ".fasthttp.gz"

// FSCompressedFileSuffixes is the default of FS.CompressedFileSuffixes. Do not change it once the program
// serves files; set FS.CompressedFileSuffixes instead.
var FSCompressedFileSuffixes = map[string]string{
	"gzip": FSCompressedFileSuffix,
	"br":   ".fasthttp.br",
	"zstd": ".fasthttp.zst",
}

// FSHandlerCacheDuration is how long fasthttp keeps a file open by default.
//
// Deprecated: FS.CacheDuration has no effect.
const FSHandlerCacheDuration = 10 * time.Second

// CacheKind exists because fasthttp exports a type with this name.
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

// FSHandler returns a handler that serves the files below root and supports ranges. For a directory, it serves
// index.html if there is one, and a list of files otherwise. Before looking up the path, the handler removes its
// first stripSlashes segments. See [NewPathSlashesStripper].
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
