package nethttp

import (
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/gallop-http/gallop"
)

// outStream is the body of a response that a handler writes while it runs, under net/http's server.
type outStream struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	r     *http.Request
	resp  *gallop.Response
	flush *http.ResponseController // nil before begin
	none  bool                     // there is no body on the wire
	over  bool                     // the handler has returned
}

var errStreamOver = errors.New("nethttp: stream used after the handler has returned")

// begin sends the head, and gathers the body that there is already.
func (s *outStream) begin() (gallop.FlushWriter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil, errStreamOver
	}
	status, h := s.resp.StatusCode(), s.resp.Header.ContentLength()
	s.none = s.r.Method == http.MethodHead || !mayHaveBody(status)
	copyResponseHeader(s.w.Header(), s.r, s.resp)
	s.w.Header().Del("Content-Length") // that of what is there so far
	if h > 0 && mayHaveBody(status) {
		s.w.Header().Set("Content-Length", strconv.Itoa(h))
	}
	if _, typed := s.w.Header()["Content-Type"]; mayHaveBody(status) && (!typed || s.w.Header()["Content-Type"] == nil) {
		if t := s.resp.Header.ContentType(); len(t) > 0 {
			s.w.Header().Set("Content-Type", string(t))
		}
	}
	s.w.WriteHeader(status)
	s.flush = http.NewResponseController(s.w)
	if body := s.resp.Body(); len(body) > 0 && !s.none {
		_, err := s.w.Write(body)
		return s, err
	}
	return s, nil
}

// Write implements gallop.FlushWriter.
func (s *outStream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return 0, errStreamOver
	case s.none:
		return len(p), nil
	}
	return s.w.Write(p)
}

// Flush implements gallop.FlushWriter. A server that cannot flush sends what was written at some time.
func (s *outStream) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errStreamOver
	}
	if err := s.flush.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// end keeps the handler from writing any more, and reports whether the response has begun.
func (s *outStream) end() (begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return s.flush != nil
}
