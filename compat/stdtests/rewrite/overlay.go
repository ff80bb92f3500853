package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

//go:embed overlay
var added embed.FS

// hooked maps each file of net/http to its methods that first call a field of http.Hooked.
var hooked = map[string][]string{
	"server.go":    {"Server.Serve", "Server.ServeTLS", "Server.Close", "Server.Shutdown", "Server.SetKeepAlivesEnabled", "Server.RegisterOnShutdown"},
	"roundtrip.go": {"Transport.RoundTrip"},
	"transport.go": {"Transport.CloseIdleConnections"},
}

// writeOverlay writes the files that are compiled into net and net/http, and overlay.json, which maps them to their
// places.
func writeOverlay(src, dir string) {
	replace := map[string]string{}
	put := func(text, pkg, name string) {
		to := filepath.Join(dir, "overlay", strings.ReplaceAll(pkg, "/", "_")+"_"+name)
		write(text, to)
		replace[filepath.Join(src, pkg, name)] = to
	}
	for name, methods := range hooked {
		text := read(src, "net/http", name)
		for _, method := range methods {
			text = withHook(text, method)
		}
		put(text, "net/http", name)
	}
	put(embedded("http.go.txt"), "net/http", "zz_hooked.go")
	put(embedded("proxy.go.txt"), "net/http", "zz_hooked_proxy.go")
	put(read(src, "net/http/export_test.go"), "net/http", "zz_hooked_export.go")
	put(embedded("net.go.txt"), "net", "zz_hooked.go")
	b, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	check(err)
	write(string(b), dir, "overlay.json")
}

func embedded(name string) string {
	b, err := added.ReadFile("overlay/" + name)
	check(err)
	return string(b)
}

// withHook returns a source file in which method, such as Server.Close, first calls its hook.
func withHook(text, method string) string {
	f := findFunc(text, method)
	results := make([]string, f.results)
	for i := range results {
		results[i] = fmt.Sprintf("r%d", i)
	}
	got := strings.Join(append(results, "ok"), ", ")
	return withStatement(text, method, fmt.Sprintf("if hook := Hooked.%s; hook != nil { if %s := hook(%s); ok { return %s } }",
		strings.ReplaceAll(method, ".", ""), got, strings.Join(f.params, ", "), strings.Join(results, ", ")))
}
