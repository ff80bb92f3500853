package poll

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// A Watch needs no goroutine before the client hangs up, and calls its function once.
func TestWatch(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(client *wiretest.Conn, c *Conn) // Watch
		after  func(client *wiretest.Conn, c *Conn)
		calls  int
	}{
		{name: "nothing happens"},
		{name: "more bytes", after: func(client *wiretest.Conn, _ *Conn) { _, _ = client.Write([]byte("more")) }},
		{name: "the client closes", after: func(client *wiretest.Conn, _ *Conn) { _ = client.Close() }, calls: 1},
		{name: "the client sends nothing more", after: func(client *wiretest.Conn, _ *Conn) { _ = client.CloseWrite() }, calls: 1},
		{name: "Close", after: func(_ *wiretest.Conn, c *Conn) { _ = c.Close() }, calls: 1},
		{name: "the client has closed before", before: func(client *wiretest.Conn, _ *Conn) { _ = client.Close() }, calls: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &hooks{}
			inMemory(t, 1, h, func(r *rig) {
				conns, letGo := served(h)
				client := r.dial()
				c := <-conns
				c.leave() // so that the loop goes on
				if tt.before != nil {
					tt.before(client, c)
				}
				synctest.Wait()
				calls, goroutines := 0, runtime.NumGoroutine()
				c.Watch(func() { calls++ })
				if more := runtime.NumGoroutine() - goroutines; more > 0 && tt.before == nil {
					t.Errorf("Watch has started %d goroutines", more)
				}
				synctest.Wait()
				if tt.after != nil {
					tt.after(client, c)
				}
				synctest.Wait()
				if quiet := c.Unwatch(); calls != tt.calls || quiet != (tt.calls == 0) {
					t.Errorf("%d calls, quiet: %t", calls, quiet)
				}
				_ = client.Close()
				synctest.Wait()
				if calls != tt.calls {
					t.Errorf("%d calls after Unwatch", calls)
				}
				c.Finish()
				letGo()
			})
		})
	}
}
