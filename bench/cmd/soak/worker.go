package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// maxBatch limits the bytes of a batch's requests, and those of its responses. Both fit into the socket buffers then,
// so neither side waits for the other. A larger request is sent alone.
const maxBatch = 32 << 10

// patience is how long a client waits before it counts something as lost.
const patience = 20 * time.Second

// worker is one client. It uses one connection at a time and sends batch after batch.
type worker struct {
	rand *rand.Rand
	addr net.Addr
	sum  *counts

	next, step, end uint64 // ids: next, next+step, …, below end
	cuts            uint64 // number of requests cut off so far

	conn  net.Conn
	in    reader
	out   []byte
	batch []request
}

// request describes a request, for comparison with its response.
type request struct {
	kind kind
	id   uint64
	size int
}

func newWorker(o options, i uint64, addr net.Addr, sum *counts) *worker {
	return &worker{
		rand: rand.New(rand.NewPCG(o.seed, i)),
		addr: addr,
		sum:  sum,
		next: i,
		step: o.workers,
		end:  o.requests,
	}
}

func (w *worker) run() {
	for w.next < w.end {
		if err := w.connection(); err != nil {
			w.complain(err)
		}
	}
}

// connection opens one connection, uses it and closes it.
func (w *worker) connection() error {
	conn, err := net.Dial(w.addr.Network(), w.addr.String())
	if err != nil {
		return w.lose(fmt.Errorf("dial: %w", err))
	}
	defer conn.Close()
	w.sum.conns.Add(1)
	w.conn = conn
	w.in.reset(conn)
	for batches := 1 + w.rand.IntN(100); ; batches-- {
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		if batches > 0 && w.next < w.end {
			if err := w.exchange(ending{}); err != nil {
				return err
			}
			continue
		}
		return w.part()
	}
}

// ending says how the last request of a batch differs from the rest.
type ending struct {
	close bool // Connection: close
	old   bool // HTTP/1.0
	cut   bool // an incomplete request follows
}

// part ends the connection in one of five ways.
func (w *worker) part() error {
	switch how := w.rand.IntN(10); {
	case how < 3: // the client closes
		return nil
	case how < 6 && w.next < w.end: // the client announces that it will close
		if err := w.exchange(ending{close: true}); err != nil {
			return err
		}
		return w.expectEnd()
	case how < 7 && w.next < w.end:
		if err := w.exchange(ending{old: true}); err != nil {
			return err
		}
		return w.expectEnd()
	case how < 9 && w.next < w.end: // complete requests, followed by half of one
		return w.breakOff(true)
	default:
		return w.breakOff(false)
	}
}

// breakOff sends an incomplete request, preceded by complete ones if after is set. It reads the responses to the
// complete ones and closes. The server may send an error response to the incomplete request before it closes, but
// nothing else.
func (w *worker) breakOff(after bool) error {
	w.sum.aborts.Add(1)
	if after {
		if err := w.exchange(ending{cut: true}); err != nil {
			return err
		}
	} else {
		w.out = w.appendPart(w.out[:0])
		if err := w.write(); err != nil {
			return nil // the server may close after half a head
		}
	}
	switch c := w.conn.(type) {
	case *net.TCPConn:
		if w.rand.IntN(2) == 0 {
			return c.SetLinger(0) // reset
		}
		if c.CloseWrite() != nil {
			return nil
		}
	case *net.UnixConn:
		if w.rand.IntN(2) == 0 {
			return nil
		}
		if c.CloseWrite() != nil {
			return nil
		}
	}
	rest, err := io.ReadAll(io.LimitReader(&w.in, 64<<10))
	if err != nil && !gone(err) {
		return fmt.Errorf("after a request that was cut off: %w", err)
	}
	if len(rest) > 0 && (len(rest) < 12 || rest[9] != '4') {
		w.sum.extra.Add(1)
		return fmt.Errorf("%d bytes after the last response and a request that was cut off: %.60q", len(rest), rest)
	}
	return nil
}

// expectEnd checks that the server closes without sending anything else.
func (w *worker) expectEnd() error {
	var one [1]byte
	n, err := w.in.Read(one[:])
	if n > 0 {
		w.sum.extra.Add(1)
		return fmt.Errorf("bytes after the last response: %.60q", w.in.rest())
	}
	if err != io.EOF && !gone(err) {
		w.sum.extra.Add(1)
		return fmt.Errorf("the connection should have been closed: %w", err)
	}
	return nil
}

// exchange sends a batch of requests and reads the responses.
func (w *worker) exchange(e ending) error {
	w.plan(e)
	w.sum.batches.Add(1)
	if err := w.write(); err != nil {
		w.sum.lost.Add(uint64(len(w.batch)))
		return fmt.Errorf("write: %w", err)
	}
	for i, r := range w.batch {
		if err := w.in.answer(r); err != nil {
			w.sum.wrong.Add(1)
			w.sum.lost.Add(uint64(len(w.batch) - i - 1))
			w.sum.answered.Add(uint64(i))
			return fmt.Errorf("response %d of %d, %s %x with %d bytes: %w", i+1, len(w.batch), r.kind, r.id, r.size, err)
		}
	}
	w.sum.answered.Add(uint64(len(w.batch)))
	return nil
}

// plan fills w.batch and w.out.
func (w *worker) plan(e ending) {
	depth := 1
	switch p := w.rand.IntN(10); {
	case p < 3:
		depth = 16
	case p < 5:
		depth = 2 + w.rand.IntN(14)
	}
	w.batch, w.out = w.batch[:0], w.out[:0]
	back := 0
	for i := 0; i < depth && w.next < w.end; i++ {
		r := request{kind: pickKind(w.rand), id: w.next, size: bodySize(w.rand)}
		last := i == depth-1 || w.next+w.step >= w.end
		if i > 0 && max(len(w.out), back)+r.size > maxBatch {
			r.size, last = 0, true
		}
		last = last || r.size > maxBatch
		if last && e.old {
			r.kind = kindMake
		}
		w.next += w.step
		w.sum.kinds[r.kind].Add(1)
		w.batch = append(w.batch, r)
		w.out = w.appendRequest(w.out, r, last && e.close, last && e.old)
		back += r.size + 200
		if last {
			break
		}
	}
	if e.cut {
		w.out = w.appendPart(w.out)
	}
}

func pickKind(r *rand.Rand) kind {
	switch p := r.IntN(100); {
	case p < 30:
		return kindEcho
	case p < 50:
		return kindChunked
	case p < 55:
		return kindStream
	case p < 85:
		return kindMake
	case p < 91:
		return kindHead
	case p < 95:
		return kindNone
	default:
		return kindSame
	}
}

// write sends w.out: mostly at once, sometimes in pieces, rarely byte by byte.
func (w *worker) write() error {
	b := w.out
	switch p := w.rand.IntN(500); {
	case p == 0:
		for range min(len(b), 300) {
			if _, err := w.conn.Write(b[:1]); err != nil {
				return err
			}
			b = b[1:]
		}
	case p < 25:
		for range 1 + w.rand.IntN(5) {
			if len(b) < 2 {
				break
			}
			n := 1 + w.rand.IntN(len(b)-1)
			if _, err := w.conn.Write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
	}
	_, err := w.conn.Write(b)
	return err
}

// lose skips one request, so that the run ends even if the server cannot be reached.
func (w *worker) lose(err error) error {
	w.next += w.step
	w.sum.lost.Add(1)
	return err
}

var printed atomic.Int32

func (w *worker) complain(err error) {
	if printed.Add(1) <= 20 {
		fmt.Fprintf(os.Stderr, "soak: client %s: %v\n", w.addr.Network(), err)
	}
}

// appendRequest appends r in one of the forms that its kind allows.
func (w *worker) appendRequest(dst []byte, r request, last, old bool) []byte {
	dst = w.appendHead(dst, r, old)
	if last {
		dst = append(dst, "Connection: close\r\n"...)
	}
	body := payload(r.id, r.size)
	switch r.kind {
	case kindMake, kindHead:
		return append(dst, "\r\n"...)
	case kindSame:
		dst = append(dst, "If-None-Match: "...)
		dst = appendTag(dst, r.id)
		return append(dst, "\r\n\r\n"...)
	case kindChunked:
		dst = append(dst, "Transfer-Encoding: chunked\r\n\r\n"...)
		dst = w.appendChunks(dst, body)
		dst = append(dst, "0\r\n"...)
		if w.rand.IntN(4) == 0 {
			dst = append(dst, "X-Soak-Trailer: end\r\n"...)
		}
		return append(dst, "\r\n"...)
	}
	if r.size > 0 && w.rand.IntN(200) == 0 {
		dst = append(dst, "Expect: 100-continue\r\n"...)
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(r.size), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}

// appendHead appends the request line and the fields that all kinds have.
func (w *worker) appendHead(dst []byte, r request, old bool) []byte {
	switch r.kind {
	case kindMake, kindSame:
		dst = append(dst, "GET /"...)
	case kindHead:
		dst = append(dst, "HEAD /"...)
	default:
		dst = append(dst, "POST /"...)
	}
	dst = append(dst, r.kind.String()...)
	for _, n := range [...]uint64{r.id, uint64(r.size), uint64(checksum(payload(r.id, r.size)))} {
		dst = append(dst, '/')
		dst = strconv.AppendUint(dst, n, 16)
	}
	if old {
		dst = append(dst, " HTTP/1.0\r\nHost: soak\r\nX-Soak-Id: "...)
	} else {
		dst = append(dst, " HTTP/1.1\r\nHost: soak\r\nX-Soak-Id: "...)
	}
	dst = strconv.AppendUint(dst, r.id, 16)
	return append(dst, "\r\n"...)
}

// appendChunks appends body in chunks of random sizes, some with an extension.
func (w *worker) appendChunks(dst, body []byte) []byte {
	for len(body) > 0 {
		n := 1 + w.rand.IntN(len(body))
		dst = strconv.AppendInt(dst, int64(n), 16)
		if w.rand.IntN(8) == 0 {
			dst = append(dst, `;name="a;b"`...)
		}
		dst = append(dst, "\r\n"...)
		dst = append(dst, body[:n]...)
		dst = append(dst, "\r\n"...)
		body = body[n:]
	}
	return dst
}

// appendPart appends an incomplete request. At least the last byte of its body, or the empty line after the last
// chunk, is missing.
func (w *worker) appendPart(dst []byte) []byte {
	w.cuts++
	r := request{kind: kindEcho, id: w.next + w.cuts*w.step | cutOff, size: 1 + w.rand.IntN(3000)}
	if w.rand.IntN(2) == 0 {
		r.kind = kindChunked
	}
	start := len(dst)
	dst = w.appendRequest(dst, r, false, false)
	return dst[:start+1+w.rand.IntN(len(dst)-start-1)]
}
