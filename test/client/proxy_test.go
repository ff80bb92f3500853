package client_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// faultProxy stands between a client and a server and disturbs what passes.
type faultProxy struct {
	serve func(net.Conn) // the server
	often float64        // how many of the pieces that pass are disturbed, 0 to 1

	seed    uint64
	conns   atomic.Uint64
	faults  [proxyFaults]atomic.Int64
	running sync.WaitGroup
}

// These constants say what a faultProxy does to a piece.
const (
	proxyReset    = iota // both connections are reset
	proxyFin             // both are closed, in order, before it
	proxyHalf            // half of it passes, then both are closed
	proxyStall           // neither it nor anything behind it passes
	proxySplit           // it passes byte by byte
	proxyCoalesce        // it waits for the next one
	proxyCorrupt         // a digit of a length in it is another character
	proxyFaults
)

// dial connects a client through the proxy.
func (p *faultProxy) dial() (net.Conn, error) {
	client, near := wiretest.Pipe()
	far, server := wiretest.Pipe()
	n := p.conns.Add(1)
	p.running.Go(func() { p.serve(server) })
	link := &proxyLink{p: p, near: near, far: far}
	p.running.Go(func() { link.pump(near, far, rand.New(rand.NewPCG(p.seed, 2*n))) })
	p.running.Go(func() { link.pump(far, near, rand.New(rand.NewPCG(p.seed, 2*n+1))) })
	return client, nil
}

// proxyLink is one connection through the proxy.
type proxyLink struct {
	p         *faultProxy
	near, far *wiretest.Conn
}

func (l *proxyLink) close() {
	_ = l.near.Close()
	_ = l.far.Close()
}

// pump moves what from brings to to, until either ends.
func (l *proxyLink) pump(from, to *wiretest.Conn, random *rand.Rand) {
	defer l.close()
	buf := make([]byte, 4<<10)
	held := 0 // bytes at the start of buf that wait for more
	for {
		n, err := from.Read(buf[held:])
		if err != nil {
			return
		}
		piece := buf[:held+n]
		held = 0
		if random.Float64() < l.p.often {
			fault := random.IntN(proxyFaults)
			l.p.faults[fault].Add(1)
			if fault == proxyCoalesce && len(piece) < len(buf)/2 {
				held = len(piece)
				_ = from.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
				continue
			}
			if !l.disturb(fault, piece, from, to, random) {
				return
			}
			continue
		}
		_ = from.SetReadDeadline(time.Time{})
		if _, err := to.Write(piece); err != nil {
			return
		}
	}
}

// disturb passes the piece on, with that fault, and reports whether the link goes on.
func (l *proxyLink) disturb(fault int, piece []byte, from, to *wiretest.Conn, random *rand.Rand) bool {
	switch fault {
	case proxyReset:
		l.near.Reset()
		l.far.Reset()
		return false
	case proxyFin:
		return false
	case proxyHalf:
		_, _ = to.Write(piece[:len(piece)/2])
		return false
	case proxyStall:
		_, _ = io.Copy(io.Discard, from)
		return false
	case proxySplit:
		for i := range piece {
			if _, err := to.Write(piece[i : i+1]); err != nil {
				return false
			}
		}
		return true
	case proxyCorrupt:
		corruptLength(piece, random)
	}
	_, err := to.Write(piece)
	return err == nil
}

// corruptLength changes a digit of a Content-Length, or of the size of a chunk.
func corruptLength(piece []byte, random *rand.Rand) {
	at := bytes.Index(piece, []byte("Content-Length: "))
	switch {
	case at >= 0:
		at += len("Content-Length: ")
	case bytes.Contains(piece, []byte("chunked\r\n")):
		at = bytes.Index(piece, []byte("\r\n\r\n"))
		if at += 4; at < 4 {
			return
		}
	}
	if at >= 0 && at < len(piece) {
		piece[at] = "0123456789abcdefgx-+ ;\r"[random.IntN(23)]
	}
}
