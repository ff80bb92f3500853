package mediatype

// ForFile returns the media type of files with this extension, which is in lower case and begins with a dot. The type of
// a text has a charset. It returns "" for unknown extensions.
func ForFile(extension string) string { return files[extension] }

// files maps extensions of files, with the dot, to media types.
var files = map[string]string{
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
