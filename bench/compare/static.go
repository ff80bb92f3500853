//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// staticFile is a file that the app static serves.
type staticFile struct {
	name    string
	content []byte
	packed  []byte // the content of its .gz file, or nil
}

// staticFiles are the files that wrk/static.lua requests: 15 files of text with a .gz file each, and five that do not get
// smaller.
var staticFiles = func() (files []staticFile) {
	random := rand.New(rand.NewPCG(1, 2))
	for i, f := range []struct {
		extension string
		size      int
	}{
		{"css", 60_000}, {"js", 40_000}, {"js", 120_000}, {"js", 200_000}, {"html", 15_000}, {"html", 8_000}, {"json", 30_000}, {"js", 90_000},
		{"svg", 5_000}, {"svg", 2_500}, {"css", 50_000}, {"js", 20_000}, {"js", 70_000}, {"json", 3_000}, {"css", 12_000},
		{"png", 6_000}, {"woff2", 20_000}, {"webp", 45_000}, {"jpg", 35_000}, {"ico", 1_200},
	} {
		file := staticFile{name: fmt.Sprintf("f%d.%s", i, f.extension)}
		if i < 15 {
			file.content = words(random, f.size)
			file.packed = packed(file.content)
		} else {
			for range f.size {
				file.content = append(file.content, byte(random.Uint32()))
			}
		}
		files = append(files, file)
	}
	return files
}()

// words returns text that compresses about as well as code does.
func words(random *rand.Rand, size int) []byte {
	var text []byte
	for len(text) < size {
		text = fmt.Appendf(text, "word%d ", random.IntN(3_000))
	}
	return text[:size]
}

func packed(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	w.Write(content)
	w.Close()
	return b.Bytes()
}

// writeStatic writes the files into a directory.
func writeStatic(dir string) error {
	defer awaitAge()
	for _, f := range staticFiles {
		name := filepath.Join(dir, f.name)
		if err := writeFile(name, f.content); err != nil {
			return err
		}
		if f.packed != nil {
			if err := writeFile(name+".gz", f.packed); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkStatic requests each file a few times as wrk/static.lua does. It returns an error if the bytes or the coding of a
// response are not those of the file on the disk.
func checkStatic(url string) error {
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	for range 3 {
		for _, f := range staticFiles {
			if err := f.check(&http.Client{Transport: transport}, url+"/"+f.name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *staticFile) check(client *http.Client, url string) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	want, coding := f.content, ""
	if f.packed != nil {
		want, coding = f.packed, "gzip"
	}
	if got := response.Header.Get("Content-Encoding"); err == nil && (response.StatusCode != http.StatusOK || got != coding || !bytes.Equal(body, want)) {
		err = fmt.Errorf("%s: %s, %d bytes in the coding %q, want %d in %q", f.name, response.Status, len(body), got, len(want), coding)
	}
	return err
}

// nginxConfig lets nginx serve the files with one process. ADDRESS, DIR and FILES are replaced.
const nginxConfig = `
daemon off;
master_process off;
pid DIR/nginx.pid;
error_log /dev/null;
events { worker_connections 8192; }
http {
	include /etc/nginx/mime.types;
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000000;
	gzip_static on;
	gzip_vary on;
	open_file_cache max=1000 inactive=60s;
	open_file_cache_valid 1s;
	open_file_cache_errors on;
	client_body_temp_path DIR/body;
	proxy_temp_path DIR/proxy;
	fastcgi_temp_path DIR/fastcgi;
	uwsgi_temp_path DIR/uwsgi;
	scgi_temp_path DIR/scgi;
	server { listen ADDRESS; root FILES; }
}
`

// nginx returns a command that runs nginx on one core. It serves the files of a directory.
func (h *hall) nginx(address, files string) (*exec.Cmd, error) {
	file := h.program("nginx.conf")
	text := strings.NewReplacer("ADDRESS", address, "DIR", h.dir, "FILES", files).Replace(nginxConfig)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	return pinned(false, 0, "nginx", "-c", file), nil
}

// files returns the directory that the app static serves.
func (h *hall) files(w workload) string {
	if w.files == nil {
		return h.dir
	}
	return h.program(w.files.name)
}
