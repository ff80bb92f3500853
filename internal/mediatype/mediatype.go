// Package mediatype provides the media types of file extensions and of the short names that offers may use. Both share
// one table, which is part of the program and does not depend on the operating system.
package mediatype

import "strings"

// MaxLength is the length in bytes of the longest name that the table may have.
const MaxLength = 16

// utf8 is the parameter in the types of text files.
const utf8 = "; charset=utf-8"

// ForOffer returns the media type, without parameters, for a short name or an extension. The name is in lower case and
// has no dot. ForOffer returns "" for unknown names.
func ForOffer(name string) string { return strings.TrimSuffix(types[name], utf8) }

// ForFile returns the media type of files with this extension, which is in lower case and has no dot. The type of a text
// file names UTF-8 as its charset. ForFile returns "" for unknown extensions.
func ForFile(extension string) string {
	if extension == "xml" {
		return "text/xml" + utf8 // The only exception: the offer "xml" is application/xml.
	}
	return types[extension]
}

// types maps names, in lower case and without a dot, to media types.
var types = map[string]string{
	"atom": "application/atom+xml", "cbor": "application/cbor", "epub": "application/epub+zip",
	"form": "application/x-www-form-urlencoded", "geojson": "application/geo+json", "json": "application/json",
	"jsonl": "application/jsonl", "map": "application/json", "msgpack": "application/vnd.msgpack",
	"multipart": "multipart/form-data", "ndjson": "application/x-ndjson", "pb": "application/protobuf",
	"pdf": "application/pdf", "problem": "application/problem+json", "rss": "application/rss+xml",
	"rtf": "application/rtf", "toml": "application/toml", "urlencoded": "application/x-www-form-urlencoded",
	"wasm": "application/wasm", "webmanifest": "application/manifest+json", "xhtml": "application/xhtml+xml",
	"xml": "application/xml", "yaml": "application/yaml", "yml": "application/yaml",

	"css": "text/css" + utf8, "csv": "text/csv" + utf8, "event-stream": "text/event-stream" + utf8,
	"go": "text/plain" + utf8, "htm": "text/html" + utf8, "html": "text/html" + utf8, "ics": "text/calendar" + utf8,
	"js": "text/javascript" + utf8, "log": "text/plain" + utf8, "md": "text/markdown" + utf8,
	"mjs": "text/javascript" + utf8, "text": "text/plain" + utf8, "txt": "text/plain" + utf8,
	"vcf": "text/vcard" + utf8, "vtt": "text/vtt" + utf8,

	"7z": "application/x-7z-compressed", "bin": "application/octet-stream", "br": "application/octet-stream",
	"bz2": "application/x-bzip2", "gz": "application/gzip", "jar": "application/java-archive",
	"rar": "application/vnd.rar", "tar": "application/x-tar", "tgz": "application/gzip", "xz": "application/x-xz",
	"zip": "application/zip", "zst": "application/zstd",

	"avif": "image/avif", "bmp": "image/bmp", "gif": "image/gif", "ico": "image/vnd.microsoft.icon",
	"jpeg": "image/jpeg", "jpg": "image/jpeg", "jxl": "image/jxl", "png": "image/png", "svg": "image/svg+xml",
	"tif": "image/tiff", "tiff": "image/tiff", "webp": "image/webp",

	"aac": "audio/aac", "flac": "audio/flac", "m4a": "audio/mp4", "mp3": "audio/mpeg", "oga": "audio/ogg",
	"ogg": "audio/ogg", "opus": "audio/ogg", "wav": "audio/wav", "weba": "audio/webm",
	"avi": "video/x-msvideo", "m4v": "video/mp4", "mkv": "video/x-matroska", "mov": "video/quicktime",
	"mp4": "video/mp4", "mpeg": "video/mpeg", "ogv": "video/ogg", "webm": "video/webm",

	"otf": "font/otf", "ttf": "font/ttf", "woff": "font/woff", "woff2": "font/woff2",
}
