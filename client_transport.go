package gallop

import (
	"bufio"
	"context"
	"net"
	"time"
)

// RoundTripper makes a single attempt of a call.
type RoundTripper interface {
	// RoundTrip sends req to hc's host and reads the answer into resp, within the time
	// that req.GetTimeOut says if that is not 0. retry tells whether, after an error, it
	// may be tried again. It may be called concurrently.
	RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error)
}

// DefaultTransport makes attempts as a HostClient does that has no Transport.
var DefaultTransport RoundTripper = transport{}

type transport struct{}

func (transport) RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error) {
	if err := hc.init(); err != nil {
		return false, err
	}
	var deadline time.Time
	if req.timeout > 0 {
		deadline = time.Now().Add(req.timeout)
	}
	ctx := req.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	err = hc.attempt(ctx, deadline, nil, req, resp, false)
	_, unsent := err.(requestError)
	return err != nil && !unsent, unmarked(err)
}

// transport lets t make an attempt, which gets the deadline as a timeout, and
// the context by a way that only DefaultTransport knows.
func (c *HostClient) transport(ctx context.Context, deadline time.Time, t RoundTripper, req *Request, resp *Response) error {
	timeout := req.timeout
	defer func() { req.timeout, req.ctx = timeout, nil }()
	if req.ctx = ctx; !deadline.IsZero() {
		if req.timeout = time.Until(deadline); req.timeout <= 0 {
			return ErrTimeout
		}
	}
	retry, err := t.RoundTrip(c, req, resp)
	if err != nil && !retry {
		err = requestError{unmarked(err)}
	}
	return err
}

// AcquireConn returns a connection for a RoundTripper of one's own, within reqTimeout if
// that is not 0. It has to be given back by ReleaseConn or CloseConn. With
// connectionClose it is a new one.
func (c *HostClient) AcquireConn(reqTimeout time.Duration, connectionClose bool) (*clientConn, error) {
	if err := c.init(); err != nil {
		return nil, err
	}
	var deadline time.Time
	if reqTimeout > 0 {
		deadline = time.Now().Add(reqTimeout)
	}
	cc, err := c.pool.get(context.Background(), deadline, c.set.trace, connectionClose, false)
	if err == nil {
		cc.armRead(time.Time{})
		cc.armWrite(time.Time{})
		cc.calls++
	}
	return cc, err
}

// ReleaseConn gives a connection back on which nothing is under way. Deadlines that
// were set have to be taken off.
func (c *HostClient) ReleaseConn(cc *clientConn) { c.pool.put(cc) }

// CloseConn gives a connection back that is not to be used again.
func (c *HostClient) CloseConn(cc *clientConn) { c.pool.discard(cc) }

// AcquireReader returns a buffered reader over conn.
func (c *HostClient) AcquireReader(conn net.Conn) *bufio.Reader {
	return bufio.NewReaderSize(conn, orDefault(c.ReadBufferSize, defaultClientBuffer))
}

// ReleaseReader is called when br is not needed any more.
func (c *HostClient) ReleaseReader(br *bufio.Reader) { br.Reset(nil) }

// AcquireWriter returns a buffered writer over conn.
func (c *HostClient) AcquireWriter(conn net.Conn) *bufio.Writer {
	return bufio.NewWriterSize(conn, orDefault(c.WriteBufferSize, defaultClientBuffer))
}

// ReleaseWriter is called when bw is not needed any more.
func (c *HostClient) ReleaseWriter(bw *bufio.Writer) { bw.Reset(nil) }
