package http2flood

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// peer is a client that writes the frames it is told to. Another goroutine reads what the server sends.
type peer struct {
	*http2.Framer
	nc     net.Conn
	out    *bufio.Writer
	enc    *hpack.Encoder
	block  bytes.Buffer
	id     uint32 // of the latest stream
	frames int    // written so far
	batch  []byte // frames that are written often
	failed error  // of a write
	ended  chan struct{}

	answered chan struct{} // closed when the first response has begun

	// These fields may be read when ended is closed.
	goAway *http2.GoAwayFrame // the last one
	resets map[uint32]http2.ErrCode
	done   []uint32 // streams with a response that has ended, in order
	status string   // of the last response
	err    error    // why reading ended
}

// noPeerCode stands for a connection that ended without GOAWAY.
const noPeerCode = http2.ErrCode(1 << 31)

// dial connects to addr and sends the preface and SETTINGS.
func dial(addr string, settings ...http2.Setting) (*peer, error) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return newPeer(nc, settings...), nil
}

// newPeer returns a client on a connection, on which it has begun HTTP/2.
func newPeer(nc net.Conn, settings ...http2.Setting) *peer {
	p := newDeafPeer(nc, settings...)
	go p.read()
	return p
}

// newDeafPeer returns a client that reads nothing.
func newDeafPeer(nc net.Conn, settings ...http2.Setting) *peer {
	p := &peer{nc: nc, out: bufio.NewWriterSize(nc, 8<<10), ended: make(chan struct{}), answered: make(chan struct{})}
	p.resets = map[uint32]http2.ErrCode{}
	p.Framer = http2.NewFramer(p.out, bufio.NewReaderSize(nc, 4<<10))
	p.AllowIllegalWrites = true
	p.SetReuseFrames()
	p.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	p.enc = hpack.NewEncoder(&p.block)
	p.id = ^uint32(0)
	p.out.WriteString(http2.ClientPreface)
	p.note(p.WriteSettings(settings...))
	p.note(p.WriteSettingsAck())
	p.flush()
	return p
}

// note counts a frame that was written with err.
func (p *peer) note(err error) {
	p.frames++
	if err != nil && p.failed == nil {
		p.failed = err
	}
}

func (p *peer) flush() {
	_ = p.nc.SetWriteDeadline(time.Now().Add(5 * time.Second))
	if err := p.out.Flush(); err != nil && p.failed == nil {
		p.failed = err
	}
}

// read reads until the server closes the connection.
func (p *peer) read() {
	defer close(p.ended)
	for {
		f, err := p.ReadFrame()
		if err != nil {
			p.err = err
			return
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			if p.status == "" {
				close(p.answered)
			}
			p.status = f.PseudoValue("status")
		case *http2.GoAwayFrame:
			kept := *f
			p.goAway = &kept
		case *http2.RSTStreamFrame:
			if len(p.resets) < 1000 {
				p.resets[f.StreamID] = f.ErrCode
			}
		}
		if h := f.Header(); (h.Type == http2.FrameData || h.Type == http2.FrameHeaders) && h.Flags.Has(http2.FlagDataEndStream) && len(p.done) < 1000 {
			p.done = append(p.done, h.StreamID)
		}
	}
}

// encode returns the header block of a request. fields has names and values in turn.
func (p *peer) encode(method, path string, fields ...string) []byte {
	p.block.Reset()
	for _, f := range [][2]string{{":method", method}, {":scheme", "http"}, {":path", path}, {":authority", "localhost"}} {
		_ = p.enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	for i := 0; i+1 < len(fields); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return p.block.Bytes()
}

// open sends the head of a request on a new stream.
func (p *peer) open(method, path string, end bool, fields ...string) {
	p.headers(p.encode(method, path, fields...), end, true)
}

// headers sends HEADERS on a new stream.
func (p *peer) headers(block []byte, end, endBlock bool) {
	p.id += 2
	p.note(p.WriteHeaders(http2.HeadersFrameParam{StreamID: p.id, BlockFragment: block, EndStream: end, EndHeaders: endBlock}))
}

// verdict waits until the server has ended the connection, and returns the code of its GOAWAY.
func (p *peer) verdict(wait time.Duration) (http2.ErrCode, error) {
	select {
	case <-p.ended:
	case <-time.After(wait):
		p.nc.Close()
		<-p.ended
		return noPeerCode, errors.New("the server has not ended the connection")
	}
	p.nc.Close()
	if p.goAway == nil {
		return noPeerCode, fmt.Errorf("the connection ended without GOAWAY: %w", p.err)
	}
	return p.goAway.ErrCode, nil
}

// isAlive reports whether the server has not ended the connection.
func (p *peer) isAlive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return p.failed == nil
	}
}

// wantAlive fails the test if the server has ended the connection.
func (p *peer) wantAlive(t *testing.T) {
	t.Helper()
	if p.isAlive() {
		return
	}
	<-p.ended
	code := noPeerCode
	if p.goAway != nil {
		code = p.goAway.ErrCode
	}
	t.Errorf("a good client was cut: %v, GOAWAY %v, write error %v", p.err, code, p.failed)
}
