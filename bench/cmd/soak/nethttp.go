package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
)

func serveNetHTTP(l net.Listener, book *ledger) error {
	s := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r := book.judge(ask{
			method: []byte(req.Method),
			path:   []byte(req.URL.Path),
			id:     []byte(req.Header.Get("X-Soak-Id")),
			match:  []byte(req.Header.Get("If-None-Match")),
			body:   body,
		})
		out := w.Header()
		out.Set("X-Soak-Id", strconv.FormatUint(r.id, 16))
		out.Set("X-Soak-Sum", strconv.FormatUint(uint64(r.sum), 16))
		if r.etag {
			out.Set("ETag", string(appendTag(nil, r.id)))
		}
		if r.status == http.StatusOK && !r.stream {
			out.Set("Content-Length", strconv.Itoa(len(r.body)))
		}
		w.WriteHeader(r.status)
		if r.stream {
			http.NewResponseController(w).Flush()
		}
		if r.status == http.StatusOK {
			w.Write(r.body)
		}
	})}
	return s.Serve(l)
}
