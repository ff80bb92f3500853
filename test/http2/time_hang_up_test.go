package http2_test

import (
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// A connection ends when its last stream has ended, if the client closed it right after its last request. It does not wait for
// IdleTimeout. Request and end have to arrive in the same read, which most of the attempts achieve.
func TestClientHangsUp(t *testing.T) {
	for range 10 {
		talk(t, hello, func(c *timedClient, s *gallop.Server) {
			c.begin()
			begun := time.Now()
			c.open("GET", "/", true)
			if err := c.Conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(80 * time.Second)
			c.wantEnd(begun, 0)
		})
	}
}
