package gallop

import (
	"io"
	"os"
)

// streamSize returns n as the size of a stream. What is too large for an int, where
// that has 32 bits, counts as not known: it is sent in chunks.
func streamSize(n int64) int {
	if int64(int(n)) != n {
		return -1
	}
	return int(n)
}

// fileSection is the next left bytes of a file. A connection that can sends them by
// sendfile.
type fileSection struct {
	file *os.File
	left int64
}

func (s *fileSection) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.file.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	return n, err
}

func (s *fileSection) Close() error { return s.file.Close() }

// fileOf returns the file that r reads, from where that stands, nil if r is something else.
func fileOf(r io.Reader) *os.File {
	switch r := r.(type) {
	case *os.File:
		return r
	case *fileSection:
		return r.file
	}
	return nil
}
