package client

import (
	"crypto/tls"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
)

// trace has the times of the phases of one call. Functions of the client's trace may run on several goroutines.
type trace struct {
	mu sync.Mutex
	times
}

// times are the moments of one call; zero ones did not happen.
type times struct {
	got               time.Time // a connection
	gots              int       // how many connections the call got; several if it was sent again
	opened            bool      // the last connection was new
	connect, tls      time.Duration
	connectAt, tlsAt  time.Time
	resumed           bool
	wrote, firstBytes time.Time
}

func (t *trace) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times = times{}
}

func (t *trace) take() times {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.times
}

func (t *trace) set(f func(t *times)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.times)
}

// hooks returns the functions that the client calls.
func (t *trace) hooks() *gallop.ClientTrace {
	return &gallop.ClientTrace{
		GotConn: func(info gallop.GotConnInfo) {
			t.set(func(t *times) { t.got, t.gots, t.opened = time.Now(), t.gots+1, !info.Reused })
		},
		ConnectStart: func(string, string) { t.set(func(t *times) { t.connectAt = time.Now() }) },
		ConnectDone: func(_, _ string, err error) {
			t.set(func(t *times) {
				if err == nil && !t.connectAt.IsZero() {
					t.connect = time.Since(t.connectAt)
				}
			})
		},
		TLSHandshakeStart: func() { t.set(func(t *times) { t.tlsAt = time.Now() }) },
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			t.set(func(t *times) {
				if err == nil && !t.tlsAt.IsZero() {
					t.tls, t.resumed = time.Since(t.tlsAt), state.DidResume
				}
			})
		},
		WroteRequest: func(error) { t.set(func(t *times) { t.wrote = time.Now() }) },
		GotFirstByte: func() { t.set(func(t *times) { t.firstBytes = time.Now() }) },
	}
}
