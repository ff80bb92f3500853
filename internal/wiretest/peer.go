package wiretest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// peer is the client's end while a case is played. It sends and receives on separate goroutines, independent of the
// player, so the server cannot deadlock with its client.
type peer struct {
	conn    net.Conn
	methods []string // methods of the requests; GET if the list is too short

	mu       sync.Mutex
	news     sync.Cond
	in       []byte // received and not parsed yet
	out      []byte // still to be sent
	writing  bool
	stop     bool
	eof, rst bool
	dead     bool // nothing can be sent any more

	finals   []*Response
	interims []int
	junk     error // why the received bytes are not a response
	junkHead []byte
	parsed   int // len(in) when the parser last needed more
}

func newPeer(conn net.Conn, methods []string) *peer {
	p := &peer{conn: conn, methods: methods}
	p.news.L = &p.mu
	go p.readLoop()
	go p.writeLoop()
	return p
}

func (p *peer) close() {
	p.mu.Lock()
	p.stop = true
	p.news.Broadcast()
	p.mu.Unlock()
	_ = p.conn.Close()
}

func (p *peer) readLoop() {
	buf := make([]byte, 64<<10)
	for {
		n, err := p.conn.Read(buf)
		p.mu.Lock()
		p.in = append(p.in, buf[:n]...)
		if err != nil {
			p.eof, p.rst = true, err != io.EOF
		}
		p.parse()
		p.news.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *peer) writeLoop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.out) == 0 && !p.stop {
			p.news.Wait()
		}
		if p.stop {
			return
		}
		b := p.out
		p.out, p.writing = nil, true
		p.mu.Unlock()
		_, err := p.conn.Write(b)
		p.mu.Lock()
		p.writing = false
		if err != nil {
			p.dead = true
		}
		if p.dead {
			p.out = nil
		}
		p.news.Broadcast()
	}
}

// parse consumes all complete responses at the start of p.in.
func (p *peer) parse() {
	for p.junk == nil && (len(p.in) > p.parsed || p.eof) && len(p.in) > 0 {
		method := "GET"
		if len(p.finals) < len(p.methods) {
			method = p.methods[len(p.finals)]
		}
		r, n, err := Parse(p.in, method, p.eof)
		if err != nil {
			p.junk, p.junkHead = err, p.in
			return
		}
		if n == 0 {
			p.parsed = len(p.in)
			return
		}
		p.in, p.parsed = p.in[n:], 0
		if r.Interim() {
			p.interims = append(p.interims, r.Status)
		} else {
			p.finals = append(p.finals, r)
		}
	}
}

// until waits until cond holds, the server closes or limit has passed, and reports whether cond holds. It calls cond
// with p.mu held.
func (p *peer) until(ctx context.Context, limit time.Duration, cond func() bool) bool {
	end := time.Now().Add(limit)
	wake := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.news.Broadcast()
	}
	defer time.AfterFunc(limit, wake).Stop()
	defer context.AfterFunc(ctx, wake)()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !cond() && !p.eof && time.Now().Before(end) && ctx.Err() == nil {
		p.news.Wait()
	}
	return cond()
}

// send gives b to the writer and waits until all bytes are written.
func (p *peer) send(ctx context.Context, b []byte, limit time.Duration) {
	p.mu.Lock()
	if !p.dead {
		p.out = append(p.out, b...)
	}
	p.news.Broadcast()
	p.mu.Unlock()
	p.until(ctx, limit, p.flushed)
}

func (p *peer) flushed() bool { return len(p.out) == 0 && !p.writing }

var errNoHalfClose = errors.New("connection cannot be half-closed")

func (p *peer) closeWrite() error {
	if h, ok := p.conn.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite()
		return nil
	}
	return errNoHalfClose
}
