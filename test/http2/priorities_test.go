package http2_test

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
)

// Of two responses that wait for the window of the connection, the one that is more urgent comes first (RFC 9218): because of the
// request, of a frame before or after the request, or of the response.
func TestPriorities(t *testing.T) {
	update := func(id uint32, value string) func(c *client) {
		return func(c *client) {
			c.send(func() error {
				return c.fr.WriteRawFrame(0x10, 0, 0, append([]byte{0, 0, 0, byte(id)}, value...))
			})
		}
	}
	nothing := func(*client) {}
	for _, tt := range []struct {
		name          string
		before, after func(c *client)
		fields        []string
		path          string
	}{
		{"request", nothing, nothing, []string{"priority: u=0"}, "/"},
		{"frame before the request", update(5, "u=0"), nothing, nil, "/"},
		{"frame after the request", nothing, update(5, "u=0"), nil, "/"},
		{"response", nothing, nothing, []string{"priority: u=6, i"}, "/urgent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onSites(t, func(w *site) {
				body := make([]byte, 200_000)
				w.handle(func(ctx *gallop.RequestCtx) {
					if string(ctx.Path()) == "/urgent" {
						ctx.Response.Header.Set("Priority", "u=0")
					}
					ctx.SetBody(body)
				})
				c := w.newClient()
				c.hold = true
				c.preface(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
				go c.read()
				first := c.open("GET", "/", true)
				time.Sleep(time.Second)
				other := c.open("GET", "/", true)
				time.Sleep(time.Second)
				tt.before(c)
				urgent := c.open("GET", tt.path, true, tt.fields...)
				time.Sleep(time.Second)
				tt.after(c)
				var order []uint32
				for range 30 {
					c.send(func() error { return c.fr.WriteWindowUpdate(0, 16<<10) })
					time.Sleep(time.Second)
					for _, id := range []uint32{first, other, urgent} {
						c.mu.Lock()
						if c.streams[id].ended && !slices.Contains(order, id) {
							order = append(order, id)
						}
						c.mu.Unlock()
					}
				}
				if len(order) == 0 || order[0] != urgent {
					w.t.Errorf("the responses end in the order %v, want %d first", order, urgent)
				}
			})
		})
	}
}
