package gallop

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/gallop-http/gallop/internal/target"
)

// ServeFile answers with the file at path, or with a list of the files if it is a
// directory. The file is compressed if the client accepts it, as FS.Compress,
// FS.CompressBrotli and FS.CompressZstd say.
//
// The path is that of a URI: escapes in it are decoded, and '?' and '#' end it. See
// ServeFileLiteral for one that is used as it is. A relative one counts from the working
// directory, and all symbolic links are followed: never use a path that a client
// has a say in. FS is for those. A path with an empty segment ("a//b") names no file.
//
// Unlike FS it answers any method, and a status that was set before stays, as with
// ServeContent.
func ServeFile(ctx *RequestCtx, path string) { ServeFileLiteral(ctx, decodedPath(path)) }

// ServeFileBytes is ServeFile for bytes.
func ServeFileBytes(ctx *RequestCtx, path []byte) { ServeFile(ctx, string(path)) }

// ServeFileUncompressed is ServeFile without compression.
func ServeFileUncompressed(ctx *RequestCtx, path string) {
	serveOSFile(ctx, decodedPath(path), &plainFiles)
}

// ServeFileBytesUncompressed is ServeFileUncompressed for bytes.
func ServeFileBytesUncompressed(ctx *RequestCtx, path []byte) {
	ServeFileUncompressed(ctx, string(path))
}

// ServeFileLiteral is ServeFile for a path that is used as it is.
func ServeFileLiteral(ctx *RequestCtx, path string) { serveOSFile(ctx, path, &codedFiles) }

// ServeFS is ServeFile for a path in filesystem.
func ServeFS(ctx *RequestCtx, filesystem fs.FS, path string) {
	ServeFSLiteral(ctx, filesystem, decodedPath(path))
}

// ServeFSLiteral is ServeFileLiteral for a path in filesystem.
func ServeFSLiteral(ctx *RequestCtx, filesystem fs.FS, path string) {
	serveOneFile(ctx, filesystem, UnsafeBytes(path), &codedFiles)
}

// SendFile is ServeFile. The path must not be a client's.
func (ctx *RequestCtx) SendFile(path string) { ServeFile(ctx, path) }

// SendFileBytes is ServeFileBytes. The path must not be a client's.
func (ctx *RequestCtx) SendFileBytes(path []byte) { ServeFileBytes(ctx, path) }

// SendFileLiteral is ServeFileLiteral. The path must not be a client's.
func (ctx *RequestCtx) SendFileLiteral(path string) { ServeFileLiteral(ctx, path) }

// FileLastModified returns when the file at path was changed last.
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

func serveOSFile(ctx *RequestCtx, name string, how *FS) {
	if hasEmptySegment(name[len(filepath.VolumeName(name)):]) {
		ctx.NotFound()
		return
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		ctx.Logger().Printf("cannot find the working directory: %v", err)
		ctx.Error(StatusMessage(StatusInternalServerError), StatusInternalServerError)
		return
	}
	dir, base := filepath.Split(abs)
	if info, err := os.Stat(abs); err == nil && info.IsDir() {
		dir, base = abs, "."
	} else if name != "" && os.IsPathSeparator(name[len(name)-1]) {
		base += "/"
	}
	serveOneFile(ctx, os.DirFS(dir), UnsafeBytes(base), how)
}

func serveOneFile(ctx *RequestCtx, files fs.FS, p []byte, how *FS) {
	h := fileHandler{
		files:   fileTree{files: files},
		coded:   fileTree{files: files},
		list:    how.GenerateIndexPages,
		ranges:  how.AcceptByteRange,
		codings: how.codings(),
	}
	name := path.Clean("/" + string(p))[1:]
	switch {
	case hasEmptySegment(string(p)):
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
