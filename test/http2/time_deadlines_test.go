package http2_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"golang.org/x/net/http2"
)

// The end of a request does not cancel its context. The end of the client's side of the connection does, even with
// AllowHalfClose.
func TestHalfClose(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		var canceled chan time.Time
		talk(t, func(s *gallop.Server) {
			canceled = make(chan time.Time, 1)
			s.AllowHalfClose = allowed
			s.Handler = func(ctx *gallop.RequestCtx) {
				<-ctx.Done()
				canceled <- time.Now()
			}
		}, func(c *timedClient, _ *gallop.Server) {
			half, ok := c.Conn.(interface{ CloseWrite() error })
			if !ok {
				t.Fatalf("%T cannot close one side", c.Conn)
			}
			c.begin()
			begun := time.Now()
			c.open("GET", "/", true)
			c.data(c.open("POST", "/", false), "x", true)
			time.Sleep(10 * time.Second)
			c.want()
			if err := half.CloseWrite(); err != nil {
				t.Error(err)
			}
			for range 2 {
				if took := (<-canceled).Sub(begun); took != 10*time.Second {
					t.Errorf("AllowHalfClose is %v: a request was canceled after %v", allowed, took)
				}
			}
			c.wantEnd(begun, 10*time.Second)
		})
	}
}

// Deadlines that a handler sets have no effect on a response that the server sends afterwards.
func TestDeadlineBeforeResponse(t *testing.T) {
	for name, at := range map[string]time.Duration{"/none": 0, "/past": -time.Second, "/soon": time.Second} {
		t.Run(name, func(t *testing.T) {
			talk(t, func(s *gallop.Server) {
				s.Handler = func(ctx *gallop.RequestCtx) {
					by := time.Now().Add(at)
					if at == 0 {
						by = time.Time{}
					}
					if err := ctx.SetWriteDeadline(by); err != nil {
						t.Error(err)
					}
					ctx.SetBodyString(strings.Repeat("x", 1000))
				}
			}, func(c *timedClient, s *gallop.Server) {
				c.credits = false
				c.begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
				c.open("GET", "/", true)
				time.Sleep(10 * time.Second)
				c.mu.Lock()
				c.WriteWindowUpdate(1, 990)
				c.mu.Unlock()
				c.want("1 headers :status=200 content-type=text/plain; charset=utf-8 content-length=1000", "1 end after 1000 bytes")
			})
		})
	}
}
