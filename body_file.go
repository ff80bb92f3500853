package gallop

import (
	"io"
	"os"
)

// streamSize returns n as the size of a stream, or -1 if n is too large for an int of 32 bits. A stream of unknown size
// is sent in chunks.
func streamSize(n int64) int {
	if int64(int(n)) != n {
		return -1
	}
	return int(n)
}

// fileSection reads the next left bytes of a file. Where the connection allows it, the server sends them with sendfile.
type fileSection struct {
	file *os.File
	left int64
}

// Read implements io.Reader.
func (s *fileSection) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.file.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	return n, err
}

// Close closes the file.
func (s *fileSection) Close() error { return s.file.Close() }

// fileOf returns the file that r reads from its current position, or nil if r is something else.
func fileOf(r io.Reader) *os.File {
	switch r := r.(type) {
	case *os.File:
		return r
	case *fileSection:
		return r.file
	}
	return nil
}
