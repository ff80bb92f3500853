package server_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// pieces notes what io.Copy writes.
type pieces struct {
	content bytes.Buffer
	largest int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.largest = max(p.largest, len(b))
	return p.content.Write(b)
}

// TestCopyOfStreamedBody copies uploads. A client that sends quickly is read in large pieces, and one that sends slowly in small
// ones.
func TestCopyOfStreamedBody(t *testing.T) {
	t.Parallel()
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		got := make(chan *pieces, 1)
		s := &gallop.Server{Engine: over, StreamRequestBody: true, MaxRequestBodySize: 1 << 30, Handler: func(ctx *gallop.RequestCtx) {
			p := &pieces{}
			if n, err := io.Copy(struct{ io.Writer }{p}, ctx.RequestBodyStream()); err != nil || n != int64(p.content.Len()) {
				t.Errorf("%d bytes copied of %d, %v", n, p.content.Len(), err)
			}
			got <- p
		}}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go s.Serve(ln)
		defer s.Close()
		content := bytes.Repeat([]byte("0123456789abcdef"), 512<<10)
		for _, test := range []struct {
			name  string
			body  io.Reader
			size  int
			least int // of the largest piece
			most  int
		}{
			{"fast", bytes.NewReader(content), len(content), 8<<10 + 1, 64 << 10},
			{"fast, in chunks", struct{ io.Reader }{bytes.NewReader(content)}, len(content), 1, 64 << 10},
			{"slow", &slowly{content[:3000]}, 3000, 1, 1000},
			{"empty", bytes.NewReader(nil), 0, 0, 0},
		} {
			resp, err := http.Post("http://"+ln.Addr().String(), "text/plain", test.body)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			p := <-got
			if !bytes.Equal(p.content.Bytes(), content[:test.size]) || p.largest < test.least || p.largest > test.most {
				t.Errorf("%s: %d bytes, the largest piece has %d", test.name, p.content.Len(), p.largest)
			}
		}
		http.DefaultClient.CloseIdleConnections()
	})
}

// slowly yields 100 bytes every 2 ms.
type slowly struct{ left []byte }

func (s *slowly) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		return 0, io.EOF
	}
	time.Sleep(2 * time.Millisecond)
	n := copy(p, s.left[:min(100, len(s.left))])
	s.left = s.left[n:]
	return n, nil
}
