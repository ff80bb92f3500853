package server_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"sync"
	"time"
)

// simServerTLS returns the configuration of servers. A signature of Ed25519 has always the same length, so the same seed does the
// same. The certificate is valid at no time, and no client looks at it.
var simServerTLS = sync.OnceValue(func() *tls.Config {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"h2"},
		CurvePreferences: []tls.CurveID{tls.X25519}, SessionTicketsDisabled: true,
	}
})

// simTLS is the client's side of TLS over bytes. Only the handshake waits, on a goroutine of its own. A nil simTLS does nothing.
type simTLS struct {
	conn *tls.Conn

	mu     sync.Mutex
	change sync.Cond
	early  []byte // is written as soon as the handshake is done
	in     []byte // records that have arrived
	out    []byte // records that are to be sent
	ended  bool   // no more records arrive
	shaken bool   // the handshake is done
}

func newSimTLS() *simTLS {
	t := &simTLS{}
	t.change.L = &t.mu
	t.conn = tls.Client((*simRecords)(t), &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{"h2"}, CurvePreferences: []tls.CurveID{tls.X25519}, SessionTicketsDisabled: true,
	})
	go t.shake()
	return t
}

// shake does the handshake. If that fails, the client sends nothing more.
func (t *simTLS) shake() {
	if t.conn.Handshake() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shaken = true
}

// isShaking reports whether the handshake is not done.
func (t *simTLS) isShaking() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.shaken
}

// end says that no more records arrive.
func (t *simTLS) end() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.change.Broadcast()
}

// write has p sent.
func (t *simTLS) write(p []byte) { t.early = append(t.early, p...) }

// takeOutput returns records that are to be sent.
func (t *simTLS) takeOutput() []byte {
	if t == nil {
		return nil
	}
	if !t.isShaking() && len(t.early) > 0 {
		_, _ = t.conn.Write(t.early)
		t.early = nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.out
	t.out = nil
	return out
}

// read takes records that have arrived, and returns what is in those that are complete.
func (t *simTLS) read(records []byte, end bool) (data []byte, err error) {
	t.mu.Lock()
	t.in = append(t.in, records...)
	t.ended = t.ended || end
	t.change.Broadcast()
	t.mu.Unlock()
	if t.isShaking() {
		return nil, nil
	}
	p := make([]byte, 16<<10)
	for {
		n, err := t.conn.Read(p)
		switch data = append(data, p[:n]...); {
		case errors.Is(err, os.ErrDeadlineExceeded) || err == io.EOF:
			return data, nil
		case err != nil:
			return data, err
		}
	}
}

// simRecords is what a simTLS looks like from its tls.Conn.
type simRecords simTLS

// Read waits during the handshake. Afterwards it fails with a temporary error if there is nothing to read.
func (r *simRecords) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.in) == 0 {
		switch {
		case r.ended:
			return 0, io.EOF
		case r.shaken:
			return 0, errNothingYet
		}
		r.change.Wait()
	}
	n := copy(p, r.in)
	r.in = r.in[n:]
	return n, nil
}

var errNothingYet = &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}

// Write adds to what is to be sent.
func (r *simRecords) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out = append(r.out, p...)
	return len(p), nil
}

// Close implements net.Conn.
func (r *simRecords) Close() error { return nil }

// LocalAddr implements net.Conn.
func (r *simRecords) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements net.Conn.
func (r *simRecords) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements net.Conn.
func (r *simRecords) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (r *simRecords) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (r *simRecords) SetWriteDeadline(time.Time) error { return nil }
