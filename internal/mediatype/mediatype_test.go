package mediatype

import (
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	for name, mediaType := range types {
		offer := ForOffer(name)
		if len(name) > MaxLength || name != strings.ToLower(name) || strings.Count(offer, "/") != 1 || strings.Contains(offer, ";") {
			t.Errorf("%q: %q cannot be found, or is no type without parameters", name, mediaType)
		}
		if isText := strings.HasPrefix(mediaType, "text/"); strings.HasSuffix(mediaType, utf8) != isText {
			t.Errorf("%q: %q has a charset, but is no text, or is a text without charset", name, mediaType)
		}
	}
	for _, unknown := range []string{"", ".css", "CSS", "nonsense"} {
		if ForOffer(unknown) != "" || ForFile(unknown) != "" {
			t.Errorf("%q: %q, %q", unknown, ForOffer(unknown), ForFile(unknown))
		}
	}
}

// The table is the union of the two that were before it, one for files and one for offers. Where only one of them knew
// a name, the other use has the same type now.
func TestUnion(t *testing.T) {
	seen := map[string]bool{}
	for extension, want := range formerFiles {
		name := extension[1:]
		seen[name] = true
		if got := ForFile(name); got != want {
			t.Errorf("file %s: %q, want %q", extension, got, want)
		}
		if _, known := formerOffers[name]; !known && ForOffer(name) != strings.TrimSuffix(want, utf8) {
			t.Errorf("offer %s: %q, want that of the file, %q", name, ForOffer(name), want)
		}
	}
	for name, want := range formerOffers {
		seen[name] = true
		if got := ForOffer(name); got != want {
			t.Errorf("offer %s: %q, want %q", name, got, want)
		}
		if _, known := formerFiles["."+name]; !known && strings.TrimSuffix(ForFile(name), utf8) != want {
			t.Errorf("file .%s: %q, want that of the offer, %q", name, ForFile(name), want)
		}
		if same := strings.TrimSuffix(ForFile(name), utf8) == want; same == (name == "xml") {
			t.Errorf("%s: %q as a file and %q as an offer; only xml differs", name, ForFile(name), want)
		}
	}
	for name := range types {
		if !seen[name] {
			t.Errorf("%s: in neither table", name)
		}
	}
	if len(seen) != len(types) {
		t.Errorf("%d names, want %d", len(types), len(seen))
	}
}

func TestTypesDoNotAllocate(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { ForFile("css"); ForFile("xml"); ForOffer("css"); ForOffer("none") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// formerFiles are the entries of the table for files.
var formerFiles = map[string]string{
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

// formerOffers are the entries of the table for offers.
var formerOffers = map[string]string{
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
