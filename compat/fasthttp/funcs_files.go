package fasthttp

import (
	"io"
	"io/fs"
	"mime/multipart"
	"time"

	"github.com/gallop-http/gallop"
)

func ServeFileBytesUncompressed(ctx *RequestCtx, path []byte) {
	gallop.ServeFileBytesUncompressed(ctx, path)
}

func ServeFileUncompressed(ctx *RequestCtx, path string) { gallop.ServeFileUncompressed(ctx, path) }

func ServeFileBytes(ctx *RequestCtx, path []byte) { gallop.ServeFileBytes(ctx, path) }

func ServeFile(ctx *RequestCtx, path string) { gallop.ServeFile(ctx, path) }

func ServeFileLiteral(ctx *RequestCtx, path string) { gallop.ServeFileLiteral(ctx, path) }

func ServeFS(ctx *RequestCtx, filesystem fs.FS, path string) { gallop.ServeFS(ctx, filesystem, path) }

func ServeFSLiteral(ctx *RequestCtx, filesystem fs.FS, path string) {
	gallop.ServeFSLiteral(ctx, filesystem, path)
}

func NewVHostPathRewriter(slashesCount int) PathRewriteFunc {
	return gallop.NewVHostPathRewriter(slashesCount)
}

func NewPathSlashesStripper(slashesCount int) PathRewriteFunc {
	return gallop.NewPathSlashesStripper(slashesCount)
}

func NewPathPrefixStripper(prefixSize int) PathRewriteFunc {
	return gallop.NewPathPrefixStripper(prefixSize)
}

func FSHandler(root string, stripSlashes int) RequestHandler {
	return gallop.FSHandler(root, stripSlashes)
}

func ParseByteRange(byteRange []byte, contentLength int) (startPos, endPos int, err error) {
	return gallop.ParseByteRange(byteRange, contentLength)
}

func FileLastModified(path string) (time.Time, error) { return gallop.FileLastModified(path) }

func SaveMultipartFile(fh *multipart.FileHeader, path string) (err error) {
	return gallop.SaveMultipartFile(fh, path)
}

func WriteMultipartForm(w io.Writer, f *multipart.Form, boundary string) error {
	return gallop.WriteMultipartForm(w, f, boundary)
}
