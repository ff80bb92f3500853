package raw

import (
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// reader reads the responses of a connection with HTTP/1.1, one after the other. It does no I/O.
type reader struct {
	state    readState
	head     message.Head
	parser   http1.Parser
	chunks   http1.ChunkReader
	left     int64 // of a body with a known length
	interims int
	lasts    bool // the connection can carry another request after this response
}

type readState uint8

const (
	readHead readState = iota
	readFixed
	readChunks
	readToEnd
)

// Limits of responses. They only keep a broken server from using all memory.
var (
	headLimits  = http1.Limits{Target: 1, Head: 256 << 10, Fields: 4096}
	chunkLimits = http1.ChunkLimits{Line: 4 << 10, Overhead: 16 << 20, Trailer: 64 << 10, Fields: 1024}
)

const mostInterims = 100

// feed reads from the start of p. It returns how many bytes it has consumed, and whether the response is complete. The caller
// passes the other bytes again, with further ones behind them.
func (r *reader) feed(p []byte, req *request, to *response, limit int) (n int, done bool, err error) {
	for {
		if r.state == readHead {
			k, done, err := r.readHead(p[n:], req, to)
			if n += k; k == 0 || done || err != nil {
				return n, done, err
			}
			continue
		}
		k, done, err := r.readBody(p[n:], req, to, limit)
		return n + k, done, err
	}
}

// readHead reads a head. If it is the one of an interim response, the next head follows.
func (r *reader) readHead(p []byte, req *request, to *response) (n int, done bool, err error) {
	if n, err = r.parser.ParseResponse(&r.head, p, &headLimits); n == 0 || err != nil {
		return 0, false, err
	}
	r.parser = http1.Parser{}
	if r.head.Status == 101 {
		return n, false, protocol("status 101 without a request for an upgrade")
	}
	if r.head.Status < 200 {
		r.head.Reset()
		if r.interims++; r.interims > mostInterims {
			return n, false, protocol("too many interim responses")
		}
		return n, false, nil
	}
	if err = http1.FrameResponse(&r.head, req.method); err != nil {
		return n, false, err
	}
	to.takeHead(req, r.head.Status, &r.head.Fields)
	r.lasts = r.head.Flags&message.LongConnection != 0
	r.left = r.head.Length
	switch kind := r.head.Body; kind {
	case message.Fixed:
		r.state = readFixed
	case message.Chunked:
		r.state, r.chunks = readChunks, http1.ChunkReader{}
	case message.UntilClose:
		r.state = readToEnd
	default:
		done = true
	}
	r.head.Reset()
	return n, done, nil
}

func (r *reader) readBody(p []byte, req *request, to *response, limit int) (n int, done bool, err error) {
	switch r.state {
	case readFixed:
		n = int(min(int64(len(p)), r.left))
		to.takeBody(req, p[:n], limit)
		r.left -= int64(n)
		return n, r.left == 0, nil
	case readToEnd:
		to.takeBody(req, p, limit)
		return len(p), false, nil
	}
	for !r.chunks.Done() {
		data, k, err := r.chunks.Next(p[n:], &chunkLimits, nil)
		to.takeBody(req, data, limit)
		if n += k; err != nil || k == 0 {
			return n, false, err
		}
	}
	return n, true, nil
}

// end is called when the connection has ended. It reports whether that completes the response.
func (r *reader) end() (done bool) { return r.state == readToEnd }

// begun reports whether a part of a response was read.
func (r *reader) begun() bool { return r.state != readHead || r.interims > 0 }

// next prepares for the next response.
func (r *reader) next() { r.state, r.interims = readHead, 0 }
