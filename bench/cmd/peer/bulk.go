package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/bench/peers"
)

func init() {
	apps["bulk"] = func(options) peers.App { return bulk }
	apps["json"] = func(options) peers.App { return jsonList }
}

// bulkSize is the length of the responses of the app "bulk".
const bulkSize = 1 << 30

// bulk responds to GET with a stream of one GiB. It reads the body of a POST as it arrives, and responds with its length.
var bulk = peers.App{
	Streams: true,
	Handle: func(ctx peers.Context) {
		ctx.SetContentType("text/plain")
		if !ctx.IsPost() {
			ctx.SetBodyStream(&pages{left: bulkSize}, bulkSize)
			return
		}
		n, _ := io.Copy(io.Discard, ctx.(*gallop.RequestCtx).RequestBodyStream())
		ctx.SetBodyString(strconv.FormatInt(n, 10))
	},
	Standard: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if r.Method != http.MethodPost {
			w.Header().Set("Content-Length", strconv.Itoa(bulkSize))
			io.Copy(w, &pages{left: bulkSize})
			return
		}
		n, _ := io.Copy(io.Discard, r.Body)
		io.WriteString(w, strconv.FormatInt(n, 10))
	},
}

// pages reads as the same page over and over, until nothing is left.
type pages struct{ left int }

func (p *pages) Read(b []byte) (n int, err error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	b = b[:min(len(b), p.left)]
	for n < len(b) {
		n += copy(b[n:], page)
	}
	p.left -= n
	return n, nil
}

// item is a part of the JSON body of the app "json".
type item struct {
	ID       int      `json:"id"`
	Name     string   `json:"name"`
	Price    float64  `json:"price"`
	Tags     []string `json:"tags"`
	InStock  bool     `json:"inStock"`
	Quantity int      `json:"quantity"`
}

// items are 20 products, about 2 KiB of JSON.
var items = func() (all []item) {
	for i := range 20 {
		all = append(all, item{i, "product " + strconv.Itoa(i), float64(i) * 1.25, []string{"fast", "small"}, i%3 > 0, i * 7})
	}
	return all
}()

// jsonList encodes the items for each request.
var jsonList = peers.App{
	Handle: func(ctx peers.Context) {
		body, err := json.Marshal(items)
		if err != nil {
			panic(err)
		}
		ctx.SetContentType("application/json")
		ctx.SetBody(body)
	},
	Standard: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(items); err != nil {
			panic(err)
		}
	},
}
