package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"

	"github.com/gallop-http/gallop/bench/peers"
)

func init() {
	apps["file"] = func(options) peers.App { return stream(newFile(page[:fileSize])) }
}

// fileSize is the size of the file that the app "file" sends.
const fileSize = 1 << 10

// nameless is a file without a name, which disappears when the process ends. Its path opens it as long as it stays
// open.
type nameless struct {
	*os.File
	path string
}

// newFile returns a file with this content.
func newFile(content []byte) nameless {
	f, err := os.CreateTemp("", "peer")
	if err == nil {
		os.Remove(f.Name())
		_, err = f.Write(content)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
	return nameless{f, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())}
}

func (n nameless) open() *os.File {
	f, err := os.Open(n.path)
	if err != nil {
		panic(err)
	}
	return f
}

// stream opens the file for each request and sends it as a stream with a length.
func stream(n nameless) peers.App {
	return peers.App{
		Handle: func(ctx peers.Context) {
			ctx.SetContentType("text/plain")
			ctx.SetBodyStream(n.open(), fileSize)
			runtime.KeepAlive(n.File)
		},
		Standard: func(w http.ResponseWriter, _ *http.Request) {
			f := n.open()
			defer f.Close()
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", strconv.Itoa(fileSize))
			io.Copy(w, f)
		},
	}
}
