package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/bench/peers"
	"github.com/valyala/fasthttp"
)

// The app "matrix" sends the files of the directory DIR/file in four ways. The paths are /bytes/NAME, /string/NAME,
// /chunked/NAME and /file/NAME. Only the last one reads from the disk, by the file handler of each server. cmd/matrix
// makes the files.
func init() { apps["matrix"] = func(o options) peers.App { return matrix(o.files) } }

// piece is how much the app writes at once into a chunked response.
const piece = 1 << 10

// body is the content of one file in the forms in which apps have it.
type body struct {
	bytes  []byte
	text   string
	length string
}

// readBodies reads the files of a directory.
func readBodies(dir string) map[string]body {
	bodies := map[string]body{}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "peer:", err)
			os.Exit(1)
		}
		bodies[filepath.Base(name)] = body{b, string(b), strconv.Itoa(len(b))}
	}
	return bodies
}

// writeTo writes the body piece by piece.
func (b body) writeTo(w io.Writer) {
	for rest := b.bytes; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
		if _, err := w.Write(rest[:min(piece, len(rest))]); err != nil {
			return
		}
	}
}

func matrix(dir string) peers.App {
	ours := (&gallop.FS{Root: dir}).NewRequestHandler()
	theirs := (&fasthttp.FS{Root: dir}).NewRequestHandler()
	standard := http.FileServer(http.Dir(dir))
	routes, bodies := map[string]func(peers.Context){}, readBodies(filepath.Join(dir, "file"))
	for name, b := range bodies {
		routes["/bytes/"+name] = func(ctx peers.Context) { ctx.SetBody(b.bytes) }
		routes["/string/"+name] = func(ctx peers.Context) { ctx.SetBodyString(b.text) }
		routes["/chunked/"+name] = func(ctx peers.Context) { setWriter(ctx, func(w *bufio.Writer) { b.writeTo(w) }) }
		routes["/file/"+name] = func(ctx peers.Context) { serveFile(ctx, ours, theirs) }
	}
	return peers.App{
		Handle: func(ctx peers.Context) {
			if route := routes[string(ctx.Path())]; route != nil {
				ctx.SetContentType("text/plain")
				route(ctx)
				return
			}
			ctx.SetStatusCode(http.StatusNotFound)
		},
		Standard: func(w http.ResponseWriter, r *http.Request) {
			kind, name := filepath.Split(r.URL.Path)
			b, found := bodies[name]
			if !found {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/plain")
			switch kind {
			case "/bytes/":
				w.Header().Set("Content-Length", b.length)
				w.Write(b.bytes)
			case "/string/":
				w.Header().Set("Content-Length", b.length)
				io.WriteString(w, b.text)
			case "/chunked/":
				b.writeTo(w)
			default:
				standard.ServeHTTP(w, r)
			}
		},
	}
}

func setWriter(ctx peers.Context, write func(*bufio.Writer)) {
	switch ctx := ctx.(type) {
	case *gallop.RequestCtx:
		ctx.SetBodyStreamWriter(write)
	case *fasthttp.RequestCtx:
		ctx.SetBodyStreamWriter(write)
	}
}
