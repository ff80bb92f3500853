//go:build unix && !aix

package poll

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// connected returns the two ends of a TCP connection.
func connected(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if a, err = net.DialTCP("tcp", nil, ln.Addr().(*net.TCPAddr)); err != nil {
		t.Fatal(err)
	}
	if b, err = ln.AcceptTCP(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

// Several goroutines send parts of the same file, which stays at its position.
func TestSendFileInPieces(t *testing.T) {
	if !canSendFile {
		t.Skip("the system has no sendfile")
	}
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "%010d", i)
	}
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, _ = f.Seek(5, io.SeekStart)
	var all sync.WaitGroup
	for i := range 4 {
		from, to := connected(t)
		_ = to.SetReadBuffer(64 << 10)
		at := i * 100_000
		want := text.String()[at:min(at+900_000, text.Len())]
		all.Go(func() {
			n, err := SendFile(from, f, int64(at), 900_000)
			if n != int64(len(want)) || err != nil {
				t.Errorf("%d bytes, %v; want %d", n, err, len(want))
			}
			_ = from.CloseWrite()
		})
		all.Go(func() {
			if got, err := io.ReadAll(to); string(got) != want || err != nil {
				t.Errorf("%d other bytes, %v", len(got), err)
			}
		})
	}
	all.Wait()
	if at, err := f.Seek(0, io.SeekCurrent); at != 5 || err != nil {
		t.Errorf("the file is at %d, %v", at, err)
	}
}

// SendFile respects the write deadline, and says so when the system cannot send a file.
func TestSendFileFails(t *testing.T) {
	if !canSendFile {
		t.Skip("the system has no sendfile")
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(100 << 20); err != nil {
		t.Fatal(err)
	}
	from, _ := connected(t)
	n := int64(0)
	for limit := range wiretest.LongerLimits(50 * time.Millisecond) { // the machine may need longer to begin
		_ = from.SetWriteDeadline(time.Now().Add(limit))
		if n, err = SendFile(from, f, 0, 100<<20); n > 0 {
			break
		}
	}
	if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) || CannotSendFile(err) {
		t.Errorf("%d bytes, %v, although nothing is read", n, err)
	}
	_ = from.SetWriteDeadline(time.Time{})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte("x"))
	_ = f.Close()
	if _, err := SendFile(from, f, 0, 1); err == nil {
		t.Error("no error for a closed file")
	}
	_ = from.Close()
	if _, err := SendFile(from, r, 0, 1); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v for a closed connection", err)
	}
	_, _ = r.Close(), w.Close()
}
