package files

import "testing"

func TestTypeByName(t *testing.T) {
	for name, want := range map[string]string{
		"a.css": "text/css; charset=utf-8", "dir.css/a.XML": "text/xml; charset=utf-8", "a.b.PNG": "image/png",
		"a.toml": "application/toml", "a.vcf": "text/vcard; charset=utf-8", ".json": "application/json",
		"": "", "a": "", "a.": "", "dir.css/a": "", "a.css/": "", "a.no-such-extension": "",
	} {
		if got := TypeByName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestTypeByContent(t *testing.T) {
	for start, want := range map[string]string{
		"":                           "text/plain; charset=utf-8",
		"Grüße":                      "text/plain; charset=utf-8",
		"\x1b[1mbold\r\n\f\t":        "text/plain; charset=utf-8",
		"cut: \xe4\xb8":              "text/plain; charset=utf-8",
		"not cut: \xb8":              "application/octet-stream",
		"\xe4\xb8 in the middle":     "application/octet-stream",
		"\x7f":                       "application/octet-stream",
		"\x00":                       "application/octet-stream",
		"<!doctype html><script>":    "text/plain; charset=utf-8",
		"<svg xmlns='x'/>":           "text/plain; charset=utf-8",
		"%PDF-1.7":                   "application/pdf",
		"%PDF":                       "text/plain; charset=utf-8",
		"\x89PNG\r\n\x1a\nrest":      "image/png",
		"\xff\xd8\xff\xe0":           "image/jpeg",
		"\x28\xb5\x2f\xfd\x00":       "application/zstd",
		"\x1f\x8b\x08\x00 <script> ": "application/gzip",
	} {
		if got := TypeByContent([]byte(start)); got != want {
			t.Errorf("%q: %q, want %q", start, got, want)
		}
	}
}
