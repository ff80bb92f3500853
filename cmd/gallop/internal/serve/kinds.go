package serve

import (
	"path"
	"strings"
)

// kinds maps the extensions of files to the icon that they get in a list. Other files get "file".
var kinds = map[string]string{}

func init() {
	for kind, extensions := range map[string]string{
		"text":    "txt md markdown rst adoc pdf doc docx odt rtf tex epub log",
		"code":    "go c h cc cpp hpp cs java kt swift rs zig py rb php pl lua r jl js mjs cjs ts jsx tsx vue svelte html htm xhtml css scss less sh bash zsh fish ps1 bat s asm mod sum wasm",
		"data":    "json jsonl ndjson xml yaml yml toml ini cfg conf csv tsv sql db sqlite sqlite3 parquet ods xls xlsx proto",
		"image":   "png jpg jpeg gif webp avif svg ico bmp tif tiff heic psd",
		"audio":   "mp3 wav flac ogg oga opus m4a aac mid midi weba",
		"video":   "mp4 m4v webm mkv mov avi ogv mpg mpeg wmv",
		"archive": "zip tar gz tgz bz2 xz zst br 7z rar jar deb rpm apk iso dmg cab lz4",
	} {
		for _, ext := range strings.Fields(extensions) {
			kinds["."+ext] = kind
		}
	}
}

// kindOf returns the icon of an entry.
func kindOf(e *entryInfo) string {
	if e.dir {
		return "folder"
	}
	if kind := kinds[strings.ToLower(path.Ext(e.name))]; kind != "" {
		return kind
	}
	return "file"
}
