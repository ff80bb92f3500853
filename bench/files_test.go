package bench

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/valyala/fasthttp"
)

// The file handlers of gallop and fasthttp with one small file, on connections in memory. Sending costs nothing there, so
// the figures are what finding the file and making the response cost.

func BenchmarkFileEmpty(b *testing.B) { benchFile(b, 0) }
func BenchmarkFile1K(b *testing.B)    { benchFile(b, 1<<10) }
func BenchmarkFile8K(b *testing.B)    { benchFile(b, 8<<10) }

func benchFile(b *testing.B, size int) {
	dir := b.TempDir()
	writeOld(b, filepath.Join(dir, "a.txt"), size)
	time.Sleep(2200 * time.Millisecond) // gallop caches no file that was changed just now
	for name, serve := range map[string]func(net.Listener) error{
		"fasthttp": (&fasthttp.Server{Handler: (&fasthttp.FS{Root: dir}).NewRequestHandler()}).Serve,
		"gallop":   (&gallop.Server{Handler: (&gallop.FS{Root: dir}).NewRequestHandler()}).Serve,
	} {
		b.Run("server="+name, func(b *testing.B) {
			l := newLoad([]byte("GET /a.txt HTTP/1.1\r\nHost: example.com\r\n\r\n"), b.N, few(), 10_000)
			b.ReportAllocs()
			b.ResetTimer()
			_ = serve(l)
			b.StopTimer()
			if n := l.written.Load(); n < int64(b.N)*int64(size+100) {
				b.Fatalf("%d bytes written for %d requests", n, b.N)
			}
		})
	}
}

// zipfFiles is how many files BenchmarkFilesZipf has. The cache has room for about a hundredth of them.
const zipfFiles = 100_000

// BenchmarkFilesZipf requests many files, some of them much more often than others, with the cache and without it. The
// cache must not cost more than it saves.
func BenchmarkFilesZipf(b *testing.B) {
	dir := b.TempDir()
	paths := make([]string, zipfFiles)
	for i := range paths {
		paths[i] = fmt.Sprintf("/%d/%d.txt", i%100, i)
		name := filepath.Join(dir, paths[i])
		if i < 100 {
			if err := os.Mkdir(filepath.Dir(name), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		writeOld(b, name, 1<<10)
	}
	time.Sleep(2200 * time.Millisecond)
	for _, skew := range []float64{1.01, 1.2} {
		for server, skip := range map[string]bool{"gallop": false, "gallop-uncached": true} {
			b.Run(fmt.Sprintf("skew=%v/server=%s", skew, server), func(b *testing.B) {
				files := (&gallop.FS{Root: dir, SkipCache: skip}).NewRequestHandler()
				zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), skew, 1, zipfFiles-1)
				var ctx gallop.RequestCtx
				ctx.Request.Header.SetHost("example.com")
				b.ReportAllocs()
				for b.Loop() {
					ctx.Response.Reset()
					ctx.Request.SetRequestURI(paths[zipf.Uint64()])
					if files(&ctx); len(ctx.Response.Body()) != 1<<10 {
						b.Fatalf("%d, %d bytes", ctx.Response.StatusCode(), len(ctx.Response.Body()))
					}
				}
			})
		}
	}
}

// writeOld writes a file that was changed long ago.
func writeOld(b *testing.B, name string, size int) {
	at := time.Unix(1_600_000_000, 0)
	if err := os.WriteFile(name, []byte(strings.Repeat("x", size)), 0o644); err != nil {
		b.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		b.Fatal(err)
	}
}
