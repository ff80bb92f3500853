package gallop

import (
	"bytes"
	"mime"
	"path"
	"strings"
	"unicode/utf8"
)

// fileTypes are the media types of common extensions. They come before those of the
// system, which differ from one to the next.
var fileTypes = map[string]string{
	".avif": "image/avif", ".bmp": "image/bmp", ".gif": "image/gif", ".ico": "image/vnd.microsoft.icon",
	".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".png": "image/png", ".svg": "image/svg+xml",
	".tif": "image/tiff", ".tiff": "image/tiff", ".webp": "image/webp",

	".css": "text/css; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".htm": "text/html; charset=utf-8",
	".html": "text/html; charset=utf-8", ".ics": "text/calendar; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".md": "text/markdown; charset=utf-8", ".txt": "text/plain; charset=utf-8", ".log": "text/plain; charset=utf-8",
	".go": "text/plain; charset=utf-8", ".vtt": "text/vtt; charset=utf-8", ".xml": "text/xml; charset=utf-8",
	".yaml": "application/yaml", ".yml": "application/yaml",

	".json": "application/json", ".jsonl": "application/jsonl", ".map": "application/json",
	".webmanifest": "application/manifest+json", ".pdf": "application/pdf", ".rtf": "application/rtf",
	".wasm": "application/wasm", ".xhtml": "application/xhtml+xml", ".atom": "application/atom+xml",
	".rss": "application/rss+xml", ".epub": "application/epub+zip",

	".7z": "application/x-7z-compressed", ".br": "application/octet-stream", ".bz2": "application/x-bzip2",
	".gz": "application/gzip", ".jar": "application/java-archive", ".rar": "application/vnd.rar",
	".tar": "application/x-tar", ".tgz": "application/gzip", ".xz": "application/x-xz",
	".zip": "application/zip", ".zst": "application/zstd", ".bin": "application/octet-stream",

	".aac": "audio/aac", ".flac": "audio/flac", ".m4a": "audio/mp4", ".mp3": "audio/mpeg", ".oga": "audio/ogg",
	".ogg": "audio/ogg", ".opus": "audio/ogg", ".wav": "audio/wav", ".weba": "audio/webm",
	".avi": "video/x-msvideo", ".m4v": "video/mp4", ".mkv": "video/x-matroska", ".mov": "video/quicktime",
	".mp4": "video/mp4", ".mpeg": "video/mpeg", ".ogv": "video/ogg", ".webm": "video/webm",

	".otf": "font/otf", ".ttf": "font/ttf", ".woff": "font/woff", ".woff2": "font/woff2",
}

// typeByName returns the media type for the extension of a file's name, "" if it says nothing.
func typeByName(name string) string {
	ext := strings.ToLower(path.Ext(name))
	if t := fileTypes[ext]; t != "" || ext == "" {
		return t
	}
	return mime.TypeByExtension(ext)
}

// typeByContentBytes is how many bytes typeByContent looks at.
const typeByContentBytes = 512

// fileSignatures are the first bytes of files by which their type is known.
var fileSignatures = []struct{ start, mediaType string }{
	{"%PDF-", "application/pdf"},
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
	{"PK\x03\x04", "application/zip"},
	{"\x1f\x8b\x08", "application/gzip"},
	{"\x28\xb5\x2f\xfd", "application/zstd"},
	{"\x00asm", "application/wasm"},
	{"\x1a\x45\xdf\xa3", "video/webm"},
	{"OggS\x00", "application/ogg"},
	{"ID3", "audio/mpeg"},
	{"wOFF", "font/woff"},
	{"wOF2", "font/woff2"},
}

// typeByContent returns the media type of a file that begins with start, which is the whole file or its first
// 512 bytes. It recognises text and a few formats by their signature. Any other content is
// application/octet-stream.
//
// It never returns HTML or another type that can contain scripts. Permission to store a file is no permission
// to run a script.
func typeByContent(start []byte) string {
	for _, s := range fileSignatures {
		if bytes.HasPrefix(start, UnsafeBytes(s.start)) {
			return s.mediaType
		}
	}
	for _, c := range start {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b || c == 0x7f {
			return "application/octet-stream"
		}
	}
	if isCutUTF8(start) {
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// isCutUTF8 reports whether b is UTF-8, but perhaps for a last character that is cut.
func isCutUTF8(b []byte) bool {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				b = b[:i]
			}
			break
		}
	}
	return utf8.Valid(b)
}
