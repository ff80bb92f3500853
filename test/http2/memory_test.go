package http2_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
)

// first is how much of a body a client may send without credit for its stream.
const first = 65535

// serveMemory serves with room for two large bodies. Handlers respond with the length of the body.
func serveMemory(w *site, stream bool) {
	w.serve(&gallop.Server{MaxRequestBodyMemory: 400_000, MaxRequestBodySize: 1 << 20, StreamRequestBody: stream, Handler: func(ctx *gallop.RequestCtx) {
		fmt.Fprint(ctx, len(ctx.PostBody()))
		var refused *gallop.ParseError
		if stream && errors.As(ctx.Request.BodyErr(), &refused) {
			ctx.SetStatusCode(refused.StatusCode)
		}
	}})
}

// upload begins a body of n bytes with all that its window permits.
func (c *client) upload(n int, lines ...string) (id uint32) {
	id = c.open("POST", "/", false, append(lines, fmt.Sprintf("content-length: %d", n))...)
	c.data(id, strings.Repeat("x", min(n, first)), n <= first)
	synctest.Wait()
	return id
}

// complete sends the rest of a body of n bytes, and checks the response.
func (c *client) complete(id uint32, n int) {
	c.t.Helper()
	c.trickle(id, strings.Repeat("x", n-first), true)
	c.want(c.await(id), 200, fmt.Sprint(n))
}

// wantCredit checks whether a stream has got credit.
func (c *client) wantCredit(id uint32, want bool) {
	c.t.Helper()
	synctest.Wait()
	if n := c.creditOf(id); n > 0 != want {
		c.t.Errorf("stream %d has got credit for %d bytes, want any: %v", id, n, want)
	}
}

// A body that finds no memory waits until another one gives it back, or until it is refused. Bodies that have got credit, and
// small ones, are never held up.
func TestBodyMemory(t *testing.T) {
	for name, expect := range map[string][]string{"collected": nil, "read by the handler": nil, "expected": {"expect: 100-continue"}} {
		t.Run(name, func(t *testing.T) {
			onSites(t, func(w *site) {
				serveMemory(w, name == "read by the handler")
				a, b, late := w.dial(), w.dial(), w.dial()
				one, two := a.upload(200_000, expect...), b.upload(200_000, expect...)
				waits := late.upload(100_000, expect...)
				a.wantCredit(one, true)
				b.wantCredit(two, true)
				time.Sleep(20 * time.Second)
				late.wantCredit(waits, false)
				for range 5 {
					late.want(late.await(late.upload(first)), 200, fmt.Sprint(first))
				}
				a.complete(one, 200_000)
				time.Sleep(2 * time.Second)
				late.wantCredit(waits, true)
				time.Sleep(20 * time.Second)
				late.complete(waits, 100_000)

				one = a.upload(200_000, expect...)
				waits = late.upload(100_000, expect...)
				time.Sleep(32 * time.Second)
				if st := late.await(waits); st.head.status() != 503 {
					t.Errorf("status %d after the wait for memory", st.head.status())
				}
				b.complete(two, 200_000)
				a.complete(one, 200_000)
				late.wantAlive()
			})
		})
	}
}

// One connection gets half of the memory. It gets more for a single body, and a body gets more than there is if no other one has
// any.
func TestBodyMemoryOfConnection(t *testing.T) {
	onSites(t, func(w *site) {
		serveMemory(w, false)
		a, b := w.dial(), w.dial()
		one := a.upload(150_000)
		waits := a.upload(100_000)
		other := b.upload(250_000)
		a.wantCredit(one, true)
		a.wantCredit(waits, false)
		b.wantCredit(other, true)
		a.complete(one, 150_000)
		time.Sleep(2 * time.Second)
		a.wantCredit(waits, true)
		a.complete(waits, 100_000)
		waits = a.upload(1 << 20)
		time.Sleep(2 * time.Second)
		a.wantCredit(waits, false)
		b.reset(other)
		time.Sleep(2 * time.Second)
		a.wantCredit(waits, true)
		a.complete(waits, 1<<20)
	})
}

// The bytes that clients may send without credit take memory too, beyond an allowance of the connection. Refusals come at once.
func TestBodyMemoryOfFirsts(t *testing.T) {
	onSites(t, func(w *site) {
		serveMemory(w, false)
		c := w.dial()
		for range 2 {
			var ids []uint32
			for range 1<<20/(64<<10) + 200_000/(64<<10) { // the allowance, and half of the memory
				ids = append(ids, c.open("POST", "/", false))
			}
			for range 5 {
				if st := c.await(c.open("POST", "/", false)); st.head.status() != 503 {
					t.Errorf("status %d without memory", st.head.status())
				}
			}
			c.want(c.do("POST", "/", "x", "content-length: 1"), 200, "1")
			for _, id := range ids {
				c.data(id, strings.Repeat("x", 30_000), true)
				c.want(c.await(id), 200, "30000")
			}
		}
	})
}

// Without a Content-Length, memory is reserved when the body turns out to be large. It is given back when the connection ends.
func TestBodyMemoryOfUnknownLength(t *testing.T) {
	onSites(t, func(w *site) {
		serveMemory(w, false)
		var clients []*client
		for range 20 {
			c := w.dial()
			c.data(c.open("POST", "/", false), strings.Repeat("x", 30_000), false)
			clients = append(clients, c)
		}
		a, b := w.dial(), w.dial()
		one, two := a.open("POST", "/", false), b.open("POST", "/", false)
		a.data(one, strings.Repeat("x", first), false)
		synctest.Wait()
		b.data(two, strings.Repeat("x", first), false)
		a.wantCredit(one, true)
		b.wantCredit(two, false)
		a.nc.Close()
		time.Sleep(2 * time.Second)
		b.wantCredit(two, true)
		b.complete(two, 1<<20)
		for _, c := range clients {
			c.data(1, "x", true)
			c.want(c.await(1), 200, "30001")
		}
	})
}

// The time without credit does not count for MinBodyRate.
func TestBodyMemoryAndRate(t *testing.T) {
	onSites(t, func(w *site) {
		w.serve(&gallop.Server{MaxRequestBodyMemory: 400_000, MinBodyRate: 10_000, Handler: func(ctx *gallop.RequestCtx) {
			fmt.Fprint(ctx, len(ctx.PostBody()))
		}})
		a, late := w.dial(), w.dial()
		one := a.upload(300_000)
		waits := late.upload(300_000)
		for range 15 {
			time.Sleep(time.Second)
			a.data(one, strings.Repeat("x", 15_000), false)
		}
		a.data(one, strings.Repeat("x", 300_000-first-15*15_000), true)
		a.want(a.await(one), 200, "300000")
		time.Sleep(2 * time.Second)
		late.complete(waits, 300_000)
	})
}
