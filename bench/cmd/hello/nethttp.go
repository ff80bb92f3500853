package main

import (
	"io"
	"net"
	"net/http"
	"strconv"
)

func serveNetHTTP(l net.Listener, mode string) error {
	s := &http.Server{Handler: netHTTPHandler(mode)}
	return s.Serve(l)
}

func netHTTPHandler(mode string) http.Handler {
	switch mode {
	case "baseline":
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			if r.URL.Path == "/pipeline" {
				io.WriteString(w, "ok")
				return
			}
			query := r.URL.Query()
			sum := number([]byte(query.Get("a"))) + number([]byte(query.Get("b")))
			if r.Method == http.MethodPost {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					http.Error(w, "body", http.StatusBadRequest)
					return
				}
				sum += number(body)
			}
			w.Write(strconv.AppendInt(nil, sum, 10))
		})
	case "post":
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, "body", http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Write(body)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, hello)
	})
}
