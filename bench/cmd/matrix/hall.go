//go:build linux

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/measure"
)

const puma = "puma"

// rackup is puma's app.
//
//go:embed config.ru
var rackup []byte

// hall is a directory with what the servers need.
type hall struct{ dir string }

func (h *hall) program() string { return filepath.Join(h.dir, "peer") }
func (h *hall) rackup() string  { return filepath.Join(h.dir, "config.ru") }
func (h *hall) files() string   { return filepath.Join(h.dir, "www") }

// newHall builds the servers and writes the files that they send.
func newHall() (h *hall, err error) {
	dir, err := os.MkdirTemp("", "matrix")
	if err != nil {
		return nil, err
	}
	h = &hall{dir}
	if err := h.furnish(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return h, nil
}

func (h *hall) furnish() error {
	if err := child.Run("go", "build", "-o", h.program(), "./cmd/peer"); err != nil {
		return err
	}
	if err := os.WriteFile(h.rackup(), rackup, 0o600); err != nil {
		return err
	}
	dir := filepath.Join(h.files(), "file")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	past := time.Unix(1_600_000_000, 0)
	for _, kB := range sizes {
		name := filepath.Join(dir, fileName(kB))
		if err := os.WriteFile(name, content(kB), 0o600); err != nil {
			return err
		}
		if err := os.Chtimes(name, past, past); err != nil {
			return err
		}
	}
	time.Sleep(2500 * time.Millisecond) // gallop caches no file that was changed just now
	return nil
}

// content returns the body of a size. It is text without a pattern, so that parts in the wrong place are noticed.
func content(kB int) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	random := rand.New(rand.NewPCG(1, uint64(kB)))
	b := make([]byte, kB<<10)
	for i := range b {
		b[i] = letters[random.IntN(len(letters))]
	}
	return b
}

// without returns the peers that can run. It says so if puma is not installed.
func (h *hall) without(out io.Writer, peers []string) []string {
	i := slices.Index(peers, puma)
	if i < 0 {
		return peers
	}
	version, err := exec.Command(puma, "--version").Output()
	if err != nil {
		fmt.Fprintf(out, "puma does not run here, and is left out (apt install puma): %v\n\n", err)
		return slices.Delete(slices.Clone(peers), i, i+1)
	}
	ruby, _ := exec.Command("ruby", "--version").Output()
	fmt.Fprintf(out, "%s with -w2 -t5:5, %s\n\n", strings.TrimSpace(string(version)), strings.TrimSpace(string(ruby)))
	return peers
}

// server is a server under load.
type server struct {
	name    string
	address string
	cmd     *exec.Cmd
	least   int // bytes of the smallest and the largest response on the wire that check has seen
	most    int
}

// start starts a server on core 0.
func (h *hall) start(name string) (*server, error) {
	address, err := child.FreeAddress()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(h.program(), "-server", name, "-app", "matrix", "-files", h.files(), "-address", address)
	if name == puma {
		cmd = exec.Command(puma, "-q", "-w2", "-t5:5", "-e", "production", "-b", "tcp://"+address, h.rackup())
	}
	if err := child.Pin(cmd, 0); err != nil {
		return nil, err
	}
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "MATRIX_FILES="+h.files())
	cmd.Dir, cmd.Stderr = h.dir, os.Stderr
	child.DieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{name: name, address: address, cmd: cmd}
	if err := child.AwaitListener(address); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// stop ends the server. puma's workers end when it does, and it waits for them.
func (s *server) stop() {
	if s.name != puma {
		child.End(s.cmd)
		return
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(5*time.Second, func() { s.cmd.Process.Kill() })
	defer kill.Stop()
	s.cmd.Wait()
}

// round puts the server under load once.
func (s *server) round(c cell, o options) (f sample, err error) {
	processes := measure.FamilyOf(s.cmd.Process.Pid)
	user, system := processes.CPU()
	before := user + system
	l, err := s.wrk(c, o.conns, o.length)
	if err != nil && !errors.As(err, new(sizeError)) {
		return f, err
	}
	if !processes.Alive() {
		return f, syscall.ESRCH
	}
	user, system = processes.CPU()
	f = l.sample
	f[cpu] = float64(user+system-before) / float64(time.Microsecond) / float64(l.requests)
	return f, err
}
