package http2_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// Bytes of a request body that arrive while the response waits for its window do not get into the response.
func TestBodyArrivesDuringResponse(t *testing.T) {
	onSites(t, func(w *site) {
		want := strings.Repeat("response", 20_000)
		w.serve(&gallop.Server{StreamRequestBody: true, PoisonReleased: true, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/large" {
				ctx.SetBodyString(want)
			}
		}})
		c := w.dial()
		c.hold = true
		id := c.open("POST", "/large", false)
		c.awaitBody(id, 65535)
		for range 4 {
			c.data(id, strings.Repeat("request ", 4_000), false)
			c.wantAlive()
		}
		c.credit(id, 1<<20)
		c.want(c.await(id), 200, want)
	})
}

// If a request gets its response before its body has arrived, the RST_STREAM that follows has a TLS record of its own. curl 7.88,
// which reads a record at a time, discards a response that shares its record with the RST_STREAM.
func TestResetAfterResponseHasItsOwnRecord(t *testing.T) {
	onSites(t, func(w *site) {
		if !w.tls {
			return // without TLS, a client cannot see what was written with one call
		}
		w.serve(&gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
			ctx.Error("too large", gallop.StatusRequestEntityTooLarge)
		}})
		c := w.newClient()
		c.preface()
		c.data(c.open("POST", "/", false), "the beginning", false)
		var kinds []string // of the frames of each record
		buf := make([]byte, 64<<10)
		c.nc.SetReadDeadline(time.Now().Add(time.Minute))
		for !strings.Contains(strings.Join(kinds, " "), "RST_STREAM") {
			n, err := c.nc.Read(buf)
			if err != nil {
				w.t.Fatal(err, kinds)
			}
			kinds = append(kinds, "")
			fr := http2.NewFramer(nil, bytes.NewReader(buf[:n]))
			for f, err := fr.ReadFrame(); err == nil; f, err = fr.ReadFrame() {
				kinds[len(kinds)-1] += f.Header().Type.String() + " "
			}
		}
		if last := kinds[len(kinds)-1]; strings.Contains(last, "DATA") || strings.Contains(last, "HEADERS") {
			w.t.Errorf("records: %q", kinds)
		}
	})
}
