package gallop

import (
	"bufio"
	"context"
	"net"
	"time"
)

// RoundTripper makes a single attempt of a call. To wrap whole calls, implement [Doer] instead.
type RoundTripper interface {
	// RoundTrip sends req to hc's host and reads the response into resp. RoundTrip must stop when req.Context() is done.
	// If req.GetTimeOut() is not 0, RoundTrip must also stop after that time. If RoundTrip returns an error, retry reports
	// whether hc may make another attempt. RoundTrip may be called concurrently.
	RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error)
}

// DefaultTransport makes attempts in the same way as a HostClient whose Transport is nil. Assigning to DefaultTransport
// has no effect. Set [HostClient.Transport] or [Client.Transport] instead.
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
	err = hc.attempt(req.Context(), deadline, nil, req, resp, false)
	_, unsent := err.(requestError)
	return err != nil && !unsent, unmarked(err)
}

// transport lets t make an attempt. t gets the deadline as the request's timeout, and ctx as its
// context.
func (c *HostClient) transport(ctx context.Context, deadline time.Time, t RoundTripper, req *Request, resp *Response) error {
	timeout, outer := req.timeout, req.ctx
	defer func() { req.timeout, req.ctx = timeout, outer }()
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

// AcquireConn returns an HTTP/1 connection for a custom RoundTripper. AcquireConn waits at most reqTimeout for a
// connection. If reqTimeout is 0, the wait is unlimited. If connectionClose is true, AcquireConn always opens a new
// connection. Return the connection with ReleaseConn or CloseConn. If Protocols does not contain HTTP/1, the error
// wraps errors.ErrUnsupported.
//
// Deprecated: several calls share an HTTP/2 connection. See [ClientConn].
func (c *HostClient) AcquireConn(reqTimeout time.Duration, connectionClose bool) (*ClientConn, error) {
	if err := c.init(); err != nil {
		return nil, err
	}
	var deadline time.Time
	if reqTimeout > 0 {
		deadline = time.Now().Add(reqTimeout)
	}
	if c.speaksH2C() || c.Protocols != nil && !c.Protocols.HTTP1() {
		return nil, errNeedsHTTP1
	}
	cc, err := c.getHTTP1(context.Background(), deadline, nil, connectionClose, false)
	err = unmarked(err)
	if err == nil {
		cc.set = c.set // that of the last call may have a trace
		cc.armRead(time.Time{})
		cc.armWrite(time.Time{})
		cc.member.Uses++
	}
	return cc, err
}

// ReleaseConn returns a connection from AcquireConn to the pool. No request may be in flight on the connection.
// Before you call ReleaseConn, clear any deadlines that you have set on the connection.
//
// Deprecated: see [ClientConn].
func (c *HostClient) ReleaseConn(cc *ClientConn) { c.putConn(cc) }

// CloseConn closes a connection from AcquireConn and removes it from the pool.
//
// Deprecated: see [ClientConn].
func (c *HostClient) CloseConn(cc *ClientConn) { c.discardConn(cc) }

// AcquireReader returns a buffered reader for conn, with a buffer of ReadBufferSize bytes.
func (c *HostClient) AcquireReader(conn net.Conn) *bufio.Reader {
	return bufio.NewReaderSize(conn, orDefault(c.ReadBufferSize, defaultClientBuffer))
}

// ReleaseReader releases a reader that AcquireReader returned. Do not use br after ReleaseReader.
func (c *HostClient) ReleaseReader(br *bufio.Reader) { br.Reset(nil) }

// AcquireWriter returns a buffered writer for conn, with a buffer of WriteBufferSize bytes.
func (c *HostClient) AcquireWriter(conn net.Conn) *bufio.Writer {
	return bufio.NewWriterSize(conn, orDefault(c.WriteBufferSize, defaultClientBuffer))
}

// ReleaseWriter releases a writer that AcquireWriter returned. Do not use bw after ReleaseWriter.
func (c *HostClient) ReleaseWriter(bw *bufio.Writer) { bw.Reset(nil) }
