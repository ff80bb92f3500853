package gallop

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
)

// upgradedStream is the connection behind a 101, or a 2xx to CONNECT, as the body of that
// answer. It may be used as a net.Conn is.
type upgradedStream struct {
	hijackedConn
	closed sync.Once
	leave  func()
}

// handOver makes the connection the body of resp. It does not belong to the call any
// longer, and counts until it is closed.
func (cc *ClientConn) handOver(resp *Response) error {
	if cc.stopWatch != nil && !cc.stopWatch() {
		cc.stopWatch = nil
		cc.broken = true
		return net.ErrClosed // explained by the context
	}
	cc.stopWatch = nil
	cc.nc.SetDeadline(time.Time{})
	s := &upgradedStream{leave: cc.pool.leave}
	s.Conn = cc.nc
	s.rest = append(s.rest, cc.unread()...)
	bufpool.Put(cc.buf)
	cc.buf, cc.r, cc.ctx = nil, 0, nil
	resp.setStream(s, -1)
	return nil
}

// Close closes the connection.
func (s *upgradedStream) Close() error {
	defer s.closed.Do(s.leave)
	return s.Conn.Close()
}

// ReadFrom implements io.ReaderFrom.
func (s *upgradedStream) ReadFrom(r io.Reader) (int64, error) { return io.Copy(s.Conn, r) }
