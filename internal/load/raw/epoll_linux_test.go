package raw

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// patient is a driver that waits, after a request was written, until the server has responded and closed the connection.
type patient struct {
	driver
	closed chan struct{}
}

func (p patient) write(c *conn, b []byte) (int, error) {
	n, err := p.driver.write(c, b)
	select {
	case <-p.closed:
	case <-time.After(time.Second): // the request was sent on a closed connection
	}
	return n, err
}

// TestEndBehindAResponse has a server that closes connections after a response without announcing it. A response and the end of the
// connection arrive together. The connection is not used again.
func TestEndBehindAResponse(t *testing.T) {
	closed := make(chan struct{})
	o := listen(t, func(c net.Conn) {
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, fine)
		c.Close()
		select {
		case closed <- struct{}{}:
		case <-time.After(time.Second):
		}
	})
	tr := transport{driver: func(t *thread) (driver, error) {
		d, err := newEpoll(t)
		return patient{d, closed}, err
	}}
	sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(10, 1)))
	if s := sum.series[0]; s.Done != 10 || s.Raced != 0 || sum.opened != 10 {
		t.Errorf("%d done on %d connections, %d raced, %v", s.Done, sum.opened, s.Raced, s.Errors)
	}
}
