package main

import (
	"io"
	"net/http"
	"strconv"

	"github.com/gallop-http/gallop/bench/peers"
)

// apps are the applications that a server can run.
var apps = map[string]func(options) peers.App{
	"hello":    func(options) peers.App { return hello },
	"baseline": func(options) peers.App { return baseline },
	"post":     func(options) peers.App { return post },
}

const greeting = "Hello, World!"

// hello responds to every request with a greeting.
var hello = peers.App{
	Handle: func(ctx peers.Context) {
		ctx.SetContentType("text/plain")
		ctx.SetBodyString(greeting)
	},
	Standard: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, greeting)
	},
}

// baseline responds to ?a=1&b=2 with a + b, plus the number in the body of a POST.
var baseline = peers.App{
	Handle: func(ctx peers.Context) {
		ctx.SetContentType("text/plain")
		sum := number(peers.Query(ctx, "a")) + number(peers.Query(ctx, "b"))
		if ctx.IsPost() {
			sum += number(ctx.PostBody())
		}
		var buf [20]byte
		ctx.SetBody(strconv.AppendInt(buf[:0], sum, 10))
	},
	Standard: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
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
	},
}

// post returns the request's body.
var post = peers.App{
	Handle: func(ctx peers.Context) {
		ctx.SetContentType("application/octet-stream")
		ctx.SetBody(ctx.PostBody())
	},
	Standard: func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "body", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(body)
	},
}

// number parses a whole number as baseline's clients write it. It returns 0 if there is none.
func number(b []byte) (n int64) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		return -n
	}
	return n
}
