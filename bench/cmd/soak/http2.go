package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The clients of -http2 are net/http's. Each connection carries requests of several goroutines at a time. Some requests are
// canceled before their body is complete, and connections are closed in the middle of such requests.

// streams is how many requests a client has in flight at most.
const streams = 16

// worker2 is one client over HTTP/2. It uses one connection at a time.
type worker2 struct {
	*worker
	mu sync.Mutex // guards next, cuts and rand of worker
}

func newWorker2(o options, i uint64, addr net.Addr, sum *counts) *worker2 {
	return &worker2{worker: newWorker(o, i, addr, sum)}
}

func (w *worker2) run() {
	for w.next < w.end {
		if err := w.connection(); err != nil {
			w.complain(err)
		}
	}
}

// connection opens one connection, uses it and closes it.
func (w *worker2) connection() error {
	var dialed []net.Conn
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, w.addr.Network(), w.addr.String())
			if err == nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				dialed = append(dialed, nc)
				w.sum.conns.Add(1)
			}
			return nc, err
		},
	}
	defer transport.CloseIdleConnections()
	// net/http opens a connection for each request as long as it has none, so the first request is alone, and whole.
	if err := w.exchange(transport, 1, 0); err != nil {
		return err
	}
	for range w.rand.IntN(20) {
		if err := w.exchange(transport, 1+w.rand.IntN(streams), 20); err != nil {
			return err
		}
	}
	switch {
	case len(dialed) > 1:
		w.sum.extra.Add(1)
		return fmt.Errorf("%d connections where one would do", len(dialed))
	case len(dialed) == 1 && w.rand.IntN(2) == 0:
		return w.cut(transport, w.planCut(), func() { dialed[0].Close() })
	}
	return nil
}

// exchange sends up to depth requests at a time, and compares the responses. One of cuts requests is cut off, none if cuts is 0.
func (w *worker2) exchange(transport *http.Transport, depth, cuts int) error {
	w.sum.batches.Add(1)
	var group sync.WaitGroup
	errs := make([]error, depth)
	for i := range depth {
		r, isCut, ok := w.plan(cuts)
		if !ok {
			break
		}
		group.Go(func() {
			if isCut {
				errs[i] = w.cut(transport, r, nil)
			} else if errs[i] = w.call(transport, r); errs[i] == nil {
				w.sum.answered.Add(1)
			} else {
				w.sum.wrong.Add(1)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// plan chooses the next request. isCut means that it is to be canceled.
func (w *worker2) plan(cuts int) (r request, isCut, ok bool) {
	if w.next >= w.end {
		return r, false, false
	}
	if cuts > 0 && w.rand.IntN(cuts) == 0 {
		return w.planCut(), true, true
	}
	r = request{kind: pickKind(w.rand), id: w.next, size: bodySize(w.rand)}
	w.next += w.step
	w.sum.kinds[r.kind].Add(1)
	return r, false, true
}

// planCut returns a request that is going to be cut off.
func (w *worker2) planCut() request {
	w.cuts++
	w.sum.aborts.Add(1)
	return request{kind: kindEcho, id: w.next + w.cuts*w.step | cutOff, size: 1 + w.rand.IntN(3000)}
}

// call sends a request and compares the response.
func (w *worker2) call(transport *http.Transport, r request) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp, err := transport.RoundTrip(newRequest(ctx, r, bytes.NewReader(payload(r.id, r.size))))
	if err != nil {
		return fmt.Errorf("%s %x with %d bytes: %w", r.kind, r.id, r.size, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = compare(r, resp, body)
	}
	if err != nil {
		return fmt.Errorf("%s %x with %d bytes: %w", r.kind, r.id, r.size, err)
	}
	return nil
}

// newRequest returns r as net/http sends it.
func newRequest(ctx context.Context, r request, body io.Reader) *http.Request {
	url := fmt.Sprintf("http://soak/%s/%x/%x/%x", r.kind, r.id, r.size, checksum(payload(r.id, r.size)))
	method := http.MethodPost
	switch r.kind {
	case kindMake, kindSame:
		method, body = http.MethodGet, nil
	case kindHead:
		method, body = http.MethodHead, nil
	case kindChunked:
		body = struct{ io.Reader }{body} // without a length
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		panic(err)
	}
	req.Header.Set("X-Soak-Id", strconv.FormatUint(r.id, 16))
	switch r.kind {
	case kindSame:
		req.Header.Set("If-None-Match", string(appendTag(nil, r.id)))
	case kindChunked:
		req.Trailer = http.Header{"X-Soak-Trailer": {"end"}}
	}
	return req
}

// compare compares a response with its request.
func compare(r request, resp *http.Response, body []byte) error {
	status, want := http.StatusOK, payload(r.id, r.size)
	switch r.kind {
	case kindNone:
		status, want = http.StatusNoContent, nil
	case kindSame:
		status, want = http.StatusNotModified, nil
	case kindHead:
		want = nil
	}
	id, sum := strconv.FormatUint(r.id, 16), strconv.FormatUint(uint64(checksum(payload(r.id, r.size))), 16)
	switch {
	case resp.ProtoMajor != 2:
		return fmt.Errorf("version %s", resp.Proto)
	case resp.StatusCode != status:
		return fmt.Errorf("status %d, want %d", resp.StatusCode, status)
	case resp.Header.Get("X-Soak-Id") != id || resp.Header.Get("X-Soak-Sum") != sum:
		return fmt.Errorf("a response to %s with sum %s", resp.Header.Get("X-Soak-Id"), resp.Header.Get("X-Soak-Sum"))
	case r.kind == kindHead && resp.ContentLength >= 0 && resp.ContentLength != int64(r.size):
		return fmt.Errorf("length %d, want %d", resp.ContentLength, r.size)
	case !bytes.Equal(body, want):
		return fmt.Errorf("another body of %d bytes, want %d", len(body), len(want))
	}
	return nil
}

// cut sends a request, and cancels it before its body is complete, or ends its connection if end is not nil. A response would say
// that the server has made up the rest.
func (w *worker2) cut(transport *http.Transport, r request, end func()) error {
	w.mu.Lock()
	sent, wait := w.rand.IntN(r.size), time.Duration(w.rand.IntN(2000))*time.Microsecond
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	reading, stop := context.WithCancel(ctx) // net/http waits for the body
	defer stop()
	defer time.AfterFunc(wait, func() {
		if end == nil {
			cancel()
		} else {
			end()
			stop()
		}
	}).Stop()
	resp, err := transport.RoundTrip(newRequest(ctx, r, &unfinished{bytes.NewReader(payload(r.id, r.size)[:sent]), reading}))
	if err == nil {
		resp.Body.Close()
		w.sum.extra.Add(1)
		return fmt.Errorf("status %d of a request that was cut off", resp.StatusCode)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		w.sum.lost.Add(1)
		return fmt.Errorf("a request that was cut off: %w", err)
	}
	return nil
}

// unfinished is a body that does not end before its request is canceled.
type unfinished struct {
	*bytes.Reader
	ctx context.Context
}

func (u *unfinished) Read(p []byte) (int, error) {
	if n, err := u.Reader.Read(p); err == nil {
		return n, nil
	}
	<-u.ctx.Done()
	return 0, u.ctx.Err()
}
