package wiretest

import (
	"bytes"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/iotest"
)

// Pieces is a connection whose peer sends Input, Size bytes at a time, and then closes the connection. It does not wait
// for what the other side writes.
type Pieces struct {
	net.Conn
	Input  []byte
	Size   int
	Wrote  bytes.Buffer
	OnRead func() // called by Read, unless it is nil
	Closed atomic.Int32
}

// Close counts the calls.
func (c *Pieces) Close() error {
	c.Closed.Add(1)
	return nil
}

// Write implements io.Writer.
func (c *Pieces) Write(p []byte) (int, error) { return c.Wrote.Write(p) }

// Read implements io.Reader.
func (c *Pieces) Read(p []byte) (int, error) {
	if c.OnRead != nil {
		c.OnRead()
	}
	n := copy(p, c.Input[:min(c.Size, len(c.Input))])
	c.Input = c.Input[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// CompareRest fails the test unless the rest of a and the rest of b are equal and a suffix of input.
func CompareRest(t *testing.T, a, b io.Reader, input []byte) {
	t.Helper()
	restA, _ := io.ReadAll(iotest.OneByteReader(a))
	restB, _ := io.ReadAll(b)
	if !bytes.Equal(restA, restB) || !bytes.HasSuffix(input, restA) {
		t.Fatalf("the connections bring %q and %q", restA, restB)
	}
}
