//go:build linux

package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gallop-http/gallop/bench/certificate"
	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/measure"
	"github.com/gallop-http/gallop/examples/arena/profile"
)

// Processors of the server and of the load.
const (
	serverProcessor = iota
	loadProcessor
)

// hall has the programs and the server.
type hall struct {
	dir, generator      string
	process             *exec.Cmd
	server              measure.Process
	plain, h2c, secured string // addresses
	client              *http.Client
}

// newHall builds the programs, starts the server and checks its responses.
func newHall() (h *hall, err error) {
	dir, err := os.MkdirTemp("", "soakmixed")
	if err != nil {
		return nil, err
	}
	h = &hall{dir: dir, generator: filepath.Join(dir, "gallop-load")}
	h.client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		DisableCompression: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if err = h.start(); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *hall) close() {
	if h.process != nil {
		child.End(h.process)
	}
	os.RemoveAll(h.dir)
}

// file returns the name of a file in the directory.
func (h *hall) file(name string) string { return filepath.Join(h.dir, name) }

func (h *hall) start() (err error) {
	if err := child.Run("go", "build", "-C", "../examples/arena", "-o", h.file("arena"), "."); err != nil {
		return err
	}
	if err := child.Run("go", "build", "-C", "../cmd/gallop-load", "-o", h.generator, "."); err != nil {
		return err
	}
	if err := certificate.Write(h.file("pair.pem")); err != nil {
		return err
	}
	if err := h.writeFiles(); err != nil {
		return err
	}
	for _, address := range []*string{&h.plain, &h.h2c, &h.secured} {
		if *address, err = child.FreeAddress(); err != nil {
			return err
		}
	}
	h.process = exec.Command(h.file("arena"), "-plain", h.plain, "-h2c", h.h2c, "-tls1", "", "-tls2", h.secured, "-cert", h.file("pair.pem"),
		"-key", h.file("pair.pem"), "-files", h.file("www"))
	h.process.Env = append(os.Environ(), "GOMAXPROCS=1")
	if h.process.Stderr, err = os.Create(h.file(logFile)); err != nil {
		return err
	}
	if err := child.Pin(h.process, serverProcessor); err != nil {
		return err
	}
	child.DieWithParent(h.process)
	if err := h.process.Start(); err != nil {
		h.process = nil
		return err
	}
	h.server = measure.Process(h.process.Process.Pid)
	for _, address := range []string{h.plain, h.h2c, h.secured} {
		if err := child.AwaitListener(address); err != nil {
			return err
		}
	}
	defer h.client.CloseIdleConnections()
	return profile.Check(h.client, "http://"+h.plain, false)
}

// Files that the server serves. The large one is for slow readers, which the server would otherwise send it at once.
const (
	smallFile = "small.txt"
	styleFile = "style.css"
	largeFile = "large.bin"
	largeSize = 8 << 20
)

func (h *hall) writeFiles() error {
	if err := os.Mkdir(h.file("www"), 0o755); err != nil {
		return err
	}
	var style strings.Builder
	for i := range 400 {
		fmt.Fprintf(&style, ".class-%d { margin: %dpx; color: #%06x; }\n", i, i%7, i*i*31%0xffffff)
	}
	for name, text := range map[string]string{
		smallFile: strings.Repeat("A small file.\n", 70),
		styleFile: style.String(),
		largeFile: strings.Repeat("0123456789abcde\n", largeSize/16),
	} {
		if err := os.WriteFile(h.file(filepath.Join("www", name)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(h.file(uploadFile), []byte(strings.Repeat("u", uploadSize)), 0o644)
}

// logFile has what the server logs.
const logFile = "log"

// logged returns how many refusals the server has logged, and its other lines. It does not log all refusals if there are many.
func (h *hall) logged() (refusals int, others []string, err error) {
	text, err := os.ReadFile(h.file(logFile))
	if err != nil {
		return 0, nil, err
	}
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.Contains(line, " refused with "):
			refusals++
		case !strings.HasSuffix(line, " messages were left out\n"):
			others = append(others, strings.TrimSpace(line))
		}
	}
	return refusals, others, nil
}

// cpu returns the CPU time of the server so far.
func (h *hall) cpu() time.Duration {
	user, system := h.server.CPU()
	return user + system
}

// await waits until the server has at most as many descriptors as before, and returns how many it has more. The slowest clients
// are cut off after half a minute.
func (h *hall) await(before int) (left int) {
	for start := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		left = max(h.server.Descriptors()-before, 0)
		if left == 0 || time.Since(start) > time.Minute {
			return left
		}
	}
}

// sample is the state of the server at a moment.
type sample struct {
	at          time.Duration
	resident    int // bytes
	descriptors int
}

// watch samples the server until the function that it returns is called, and prints some of the samples.
func (h *hall) watch(length time.Duration) (stop func() []sample) {
	ended, all := make(chan struct{}), make(chan []sample)
	go func() {
		var samples []sample
		start, cpu := time.Now(), h.cpu()
		shown := start
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-ended:
				all <- samples
				return
			case <-tick.C:
			}
			s := sample{time.Since(start), h.server.Resident(), h.server.Descriptors()}
			samples = append(samples, s)
			if since := time.Since(shown); since > length/20 {
				now := h.cpu()
				fmt.Printf("%6.0f s: server busy %3.0f %%, resident %.1f MiB, %d descriptors\n", s.at.Seconds(),
					100*(now-cpu).Seconds()/since.Seconds(), float64(s.resident)/(1<<20), s.descriptors)
				shown, cpu = time.Now(), now
			}
		}
	}()
	return func() []sample {
		close(ended)
		return <-all
	}
}
