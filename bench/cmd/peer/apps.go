package main

import (
	"io"
	"net/http"
	"strconv"

	"github.com/gallop-http/gallop/bench/peers"
)

// apps are what a server can be asked to do.
var apps = map[string]func(options) peers.App{
	"hello":    func(options) peers.App { return hello },
	"baseline": func(options) peers.App { return baseline },
	"post":     func(options) peers.App { return post },
}

const greeting = "Hello, World!"

// hello answers everything with a greeting.
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

// baseline answers ?a=1&b=2 with a + b, plus the number that the body of a POST holds.
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

// post sends the body back.
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

// number reads a whole number as baseline's clients write it, and 0 where there is none.
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
