package http2flood

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// goodClient sends one request after another on its connection.
type goodClient struct {
	transport *http2.Transport
	url       string
}

func newGoodClient(addr string) *goodClient {
	dial := func(ctx context.Context, network, addr string, _ *tls.Config) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	return &goodClient{&http2.Transport{AllowHTTP: true, DialTLSContext: dial}, "http://" + addr + "/"}
}

func (g *goodClient) close() { g.transport.CloseIdleConnections() }

// latency is how long requests took.
type latency struct {
	n   int
	p99 time.Duration
}

// measure sends requests until a time. Each must succeed.
func (g *goodClient) measure(t *testing.T, end time.Time) latency {
	t.Helper()
	var took []time.Duration
	for time.Now().Before(end) {
		begun := time.Now()
		if err := g.get(); err != nil {
			t.Errorf("a good client: %v", err)
			return latency{}
		}
		took = append(took, time.Since(begun))
		time.Sleep(2 * time.Millisecond)
	}
	slices.Sort(took)
	return latency{len(took), took[len(took)*99/100]}
}

func (g *goodClient) get() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", g.url, nil)
	if err != nil {
		return err
	}
	resp, err := g.transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
