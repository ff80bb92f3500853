// Package postgres starts a PostgreSQL server for a test or a benchmark. The server is empty, listens only on a unix socket in
// a directory of its own, and does not wait for the disk.
package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMissing reports that PostgreSQL is not installed.
var ErrMissing = errors.New("PostgreSQL is not installed")

// Server is a running server.
type Server struct {
	URL string // of its database

	dir     string
	process *exec.Cmd
	log     bytes.Buffer
}

// Start starts a server. The caller must stop it. Start returns ErrMissing if there is no PostgreSQL.
func Start() (*Server, error) {
	programs, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "arena") // short, because the path of a socket has at most 107 bytes
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, URL: "postgres:///postgres?user=arena&host=" + dir}
	if err := s.start(programs); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	if err := s.wait(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Stop stops the server and removes its files.
func (s *Server) Stop() {
	s.process.Process.Signal(os.Interrupt) // which is a fast shutdown
	s.process.Wait()
	os.RemoveAll(s.dir)
}

// find returns the directory of the programs. Debian keeps them out of PATH.
func find() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", ErrMissing
	}
	return filepath.Dir(found[len(found)-1]), nil
}

func (s *Server) start(programs string) error {
	attributes, err := ordinaryUser(s.dir)
	if err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	create := exec.Command(filepath.Join(programs, "initdb"), "-D", data, "-U", "arena", "-A", "trust", "--no-sync", "--locale", "C", "--encoding", "UTF8")
	create.SysProcAttr, create.Dir = attributes, s.dir
	if out, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	s.process = exec.Command(filepath.Join(programs, "postgres"), "-D", data, "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200")
	s.process.SysProcAttr, s.process.Dir, s.process.Stderr = attributes, s.dir, &s.log
	return s.process.Start()
}

// wait waits until the server accepts connections.
func (s *Server) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, s.URL)
		if err == nil {
			return c.Close(ctx)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("PostgreSQL does not start: %w", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
