package negotiate

import "github.com/gallop-http/gallop/internal/ascii"

// typesByExtension maps short names to media types without parameters.
var typesByExtension = map[string]string{
	"atom": "application/atom+xml", "bin": "application/octet-stream", "cbor": "application/cbor",
	"epub": "application/epub+zip", "form": "application/x-www-form-urlencoded", "geojson": "application/geo+json",
	"gz": "application/gzip", "jar": "application/java-archive", "json": "application/json", "jsonl": "application/jsonl",
	"map": "application/json", "msgpack": "application/vnd.msgpack", "multipart": "multipart/form-data",
	"ndjson": "application/x-ndjson", "pb": "application/protobuf", "pdf": "application/pdf",
	"problem": "application/problem+json", "rss": "application/rss+xml", "rtf": "application/rtf",
	"tar": "application/x-tar", "tgz": "application/gzip", "toml": "application/toml",
	"urlencoded": "application/x-www-form-urlencoded", "wasm": "application/wasm",
	"webmanifest": "application/manifest+json", "xhtml": "application/xhtml+xml", "xml": "application/xml",
	"yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip", "zst": "application/zstd",

	"css": "text/css", "csv": "text/csv", "event-stream": "text/event-stream", "htm": "text/html", "html": "text/html",
	"ics": "text/calendar", "js": "text/javascript", "md": "text/markdown", "mjs": "text/javascript", "text": "text/plain",
	"txt": "text/plain", "vcf": "text/vcard", "vtt": "text/vtt",

	"avif": "image/avif", "bmp": "image/bmp", "gif": "image/gif", "ico": "image/vnd.microsoft.icon",
	"jpeg": "image/jpeg", "jpg": "image/jpeg", "jxl": "image/jxl", "png": "image/png", "svg": "image/svg+xml",
	"tif": "image/tiff", "tiff": "image/tiff", "webp": "image/webp",

	"aac": "audio/aac", "flac": "audio/flac", "m4a": "audio/mp4", "mp3": "audio/mpeg", "oga": "audio/ogg",
	"ogg": "audio/ogg", "opus": "audio/ogg", "wav": "audio/wav", "weba": "audio/webm",
	"avi": "video/x-msvideo", "m4v": "video/mp4", "mkv": "video/x-matroska", "mov": "video/quicktime",
	"mp4": "video/mp4", "mpeg": "video/mpeg", "ogv": "video/ogg", "webm": "video/webm",

	"otf": "font/otf", "ttf": "font/ttf", "woff": "font/woff", "woff2": "font/woff2",
}

// TypeByExtension returns the media type, without parameters, for a short name or a file extension. The dot is
// optional and case does not matter. TypeByExtension returns "" for unknown names. The result does not depend on
// the operating system.
func TypeByExtension(name string) string {
	if name != "" && name[0] == '.' {
		name = name[1:]
	}
	for i := range len(name) {
		if c := name[i]; c != ascii.Lower(c) {
			return typeInCapitals(name)
		}
	}
	return typesByExtension[name]
}

func typeInCapitals(name string) string {
	var lower [16]byte // longer than any of them
	if len(name) > len(lower) {
		return ""
	}
	n := copy(lower[:], name)
	return typesByExtension[string(ascii.ToLower(lower[:n]))]
}
