package gallop

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/files"
	"github.com/gallop-http/gallop/internal/filetree"
	"github.com/gallop-http/gallop/internal/target"
)

// ServeFile responds with the file at the given path, or with a list of files if the path is a directory. If the
// client accepts a compressed response, ServeFile compresses the file, as described at [FS.Compress].
//
// The argument path has URI syntax. ServeFile decodes percent-encoding, and ignores everything from the first '?' or
// '#' on. To use a path unchanged, call ServeFileLiteral. A relative path starts at the working directory. ServeFile
// follows all symlinks. Never build the path from data in a request. To serve files that clients choose, use FS. If
// the path has an empty segment, as in "a//b", the response is 404.
//
// Unlike FS, ServeFile does not check the method of the request. If the handler has already set a status other than
// 200, ServeFile keeps the status (see ServeContent).
func ServeFile(ctx *RequestCtx, path string) { ServeFileLiteral(ctx, decodedPath(path)) }

// ServeFileBytes does the same as [ServeFile], but takes a []byte.
func ServeFileBytes(ctx *RequestCtx, path []byte) { ServeFile(ctx, string(path)) }

// ServeFileUncompressed does the same as [ServeFile], but never compresses the file.
func ServeFileUncompressed(ctx *RequestCtx, path string) {
	serveOSFile(ctx, decodedPath(path), plainOSFiles())
}

// ServeFileBytesUncompressed does the same as [ServeFileUncompressed], but takes a []byte.
func ServeFileBytesUncompressed(ctx *RequestCtx, path []byte) {
	ServeFileUncompressed(ctx, string(path))
}

// ServeFileLiteral does the same as [ServeFile], but uses the path unchanged.
func ServeFileLiteral(ctx *RequestCtx, path string) { serveOSFile(ctx, path, codedOSFiles()) }

// ServeFS does the same as [ServeFile], but takes the file from filesystem.
func ServeFS(ctx *RequestCtx, filesystem fs.FS, path string) {
	ServeFSLiteral(ctx, filesystem, decodedPath(path))
}

// ServeFSLiteral does the same as [ServeFileLiteral], but takes the file from filesystem.
func ServeFSLiteral(ctx *RequestCtx, filesystem fs.FS, path string) {
	serveOneFile(ctx, filesystem, UnsafeBytes(path), &codedFiles)
}

// SendFile responds with the file at the given path. See [ServeFile]. Never build the path from data in a request.
func (ctx *RequestCtx) SendFile(path string) { ServeFile(ctx, path) }

// SendFileBytes does the same as [RequestCtx.SendFile], but takes a []byte.
func (ctx *RequestCtx) SendFileBytes(path []byte) { ServeFileBytes(ctx, path) }

// SendFileLiteral responds with the file at the given path, without decoding the path. See [ServeFileLiteral]. Never
// build the path from data in a request.
func (ctx *RequestCtx) SendFileLiteral(path string) { ServeFileLiteral(ctx, path) }

// FileLastModified returns the modification time of the file at the given path.
func FileLastModified(path string) (time.Time, error) {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// codedFiles and plainFiles are how single files are served.
var (
	codedFiles = FS{GenerateIndexPages: true, AcceptByteRange: true, Compress: true, CompressBrotli: true, CompressZstd: true}
	plainFiles = FS{GenerateIndexPages: true, AcceptByteRange: true}
)

// codedOSFiles and plainOSFiles serve single files of the operating system. They are made when the first file is served,
// because a program may change FSCompressedFileSuffixes before that.
var (
	codedOSFiles = sync.OnceValue(func() *fileHandler { return codedFiles.handler(filetree.Host()) })
	plainOSFiles = sync.OnceValue(func() *fileHandler { return plainFiles.handler(filetree.Host()) })
)

func serveOSFile(ctx *RequestCtx, name string, h *fileHandler) {
	if files.HasEmptySegment(name[len(filepath.VolumeName(name)):]) {
		h.notFound(ctx)
		return
	}
	asDir := name != "" && os.IsPathSeparator(name[len(name)-1])
	h.serveName(ctx, filepath.Clean(name), asDir)
}

func serveOneFile(ctx *RequestCtx, tree fs.FS, p []byte, how *FS) {
	h := how.handler(filetree.Of(tree, "."))
	name := path.Clean("/" + string(p))[1:]
	switch {
	case files.HasEmptySegment(string(p)):
		h.notFound(ctx)
		return
	case name == "":
		name = "."
	}
	h.serveName(ctx, name, endsInSlash(p))
}

// decodedPath returns the path that p, part of a URI, stands for. It may be relative.
func decodedPath(p string) string {
	ref := target.SplitPath(UnsafeBytes(p))
	return string(target.AppendUnescape(nil, ref.Path))
}
