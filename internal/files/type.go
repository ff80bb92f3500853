package files

import (
	"bytes"
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/gallop-http/gallop/internal/mediatype"
)

// TypeByName returns the media type for the extension of a file's name, or "" if the extension is unknown. The types of
// package mediatype come before those of the system, which differ from one system to the next.
func TypeByName(name string) string {
	ext := strings.ToLower(path.Ext(name))
	if ext == "" {
		return ""
	}
	if t := mediatype.ForFile(ext[1:]); t != "" {
		return t
	}
	return mime.TypeByExtension(ext)
}

// SniffBytes is how many bytes of a file TypeByContent needs.
const SniffBytes = 512

// fileSignatures maps the first bytes of files to media types.
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

// TypeByContent returns the media type of a file that begins with start, which is the whole file or its first
// 512 bytes. It recognises text and a few formats by their signature. Any other content is
// application/octet-stream.
//
// It never returns HTML or another type that can contain scripts. Users who may store files must not be able to run
// scripts.
func TypeByContent(start []byte) string {
	for _, s := range fileSignatures {
		if bytes.HasPrefix(start, []byte(s.start)) {
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

// isCutUTF8 reports whether b is UTF-8. The last character may be incomplete.
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
