package raw

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// netDriver is the driver with net.Conn. A goroutine per connection connects and reads. It passes what it has on to the
// thread, and waits until the thread has handled it.
type netDriver struct {
	t       *thread
	dialers []net.Dialer // by local address
	dialed  int
	events  chan netEvent
	timer   *time.Timer
	readers sync.WaitGroup
}

// netEvent is something that has happened to a connection.
type netEvent struct {
	c    *conn
	l    *link
	what netEventKind
	p    []byte
	err  error

	handshake time.Duration
	resumed   bool
}

type netEventKind uint8

const (
	netConnected netEventKind = iota
	netInput
	netEnded
	netWritable
)

func newNetDriver(t *thread) (driver, error) {
	d := &netDriver{t: t, events: make(chan netEvent, 256), timer: time.NewTimer(time.Hour)}
	for _, addr := range t.local {
		d.dialers = append(d.dialers, net.Dialer{KeepAlive: -1, LocalAddr: &net.TCPAddr{IP: addr.AsSlice()}})
	}
	if len(d.dialers) == 0 {
		d.dialers = make([]net.Dialer, 1)
		d.dialers[0].KeepAlive = -1
	}
	return d, nil
}

func (d *netDriver) open(c *conn) error {
	ctx, cancel := context.WithCancel(context.Background())
	c.link = &link{d: d, c: c, ctx: ctx, cancel: cancel, handled: make(chan struct{}, 1)}
	dialer := &d.dialers[d.dialed%len(d.dialers)]
	d.dialed++
	d.readers.Add(1)
	go c.link.serve(dialer)
	return nil
}

func (d *netDriver) close(c *conn) {
	if c.link != nil {
		c.link.close()
		c.link = nil
	}
}

func (d *netDriver) shut(c *conn) error { return c.link.shut() }

func (d *netDriver) reset(c *conn) { c.link.reset() }

func (d *netDriver) stop() { d.readers.Wait() }

func (d *netDriver) write(c *conn, p []byte) (int, error) { return c.link.write(p) }

func (d *netDriver) sleep(pause time.Duration) { time.Sleep(pause) }

// wait handles events. After each, it lets the thread do what is due.
func (d *netDriver) wait(pause time.Duration) {
	d.timer.Reset(pause)
	select {
	case e := <-d.events:
		d.handle(&e)
	case <-d.timer.C:
		return
	}
	for range cap(d.events) {
		select {
		case e := <-d.events:
			d.handle(&e)
		default:
			return
		}
	}
}

func (d *netDriver) handle(e *netEvent) {
	c := e.c
	if c.link != e.l {
		return // it was closed meanwhile
	}
	switch e.what {
	case netConnected:
		d.t.connected(c, e.handshake, e.resumed)
	case netInput:
		e.l.unheard = 0
		c.input(e.p)
		e.l.handled <- struct{}{}
	case netEnded:
		c.end(classify(e.err))
	case netWritable:
		c.writable()
	}
	d.t.goOn(perEvent)
}

// link is a connection of the driver.
type link struct {
	d       *netDriver
	c       *conn
	ctx     context.Context // done when the connection is closed
	cancel  context.CancelFunc
	handled chan struct{} // the thread has handled the input

	mu     sync.Mutex
	nc     net.Conn
	busy   bool   // a goroutine writes
	shuts  bool   // it must end this direction afterwards
	out    []byte // what it writes
	closed bool

	unheard int // bytes written since the latest input; for the thread only
}

// post passes an event on, unless the connection was closed.
func (l *link) post(e netEvent) bool {
	e.c, e.l = l.c, l
	select {
	case l.d.events <- e:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// serve connects and reads until the connection ends.
func (l *link) serve(dialer *net.Dialer) {
	defer l.d.readers.Done()
	connected := netEvent{what: netConnected}
	nc, err := l.dial(dialer, &connected)
	if err == nil && !l.keep(nc) {
		return
	}
	if err != nil || !l.post(connected) {
		l.post(netEvent{what: netEnded, err: err})
		return
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := nc.Read(buf)
		if n > 0 {
			if !l.post(netEvent{what: netInput, p: buf[:n]}) {
				return
			}
			select {
			case <-l.handled:
			case <-l.ctx.Done():
				return
			}
		}
		if err != nil {
			l.post(netEvent{what: netEnded, err: endOf(err)})
			return
		}
	}
}

// dial connects. It sets what the event says about TLS.
func (l *link) dial(dialer *net.Dialer, e *netEvent) (net.Conn, error) {
	t := l.d.t
	ctx, cancel := context.WithTimeout(l.ctx, t.DialTimeout)
	defer cancel()
	nc, err := dialer.DialContext(ctx, t.Network, t.target)
	if err != nil || t.tls == nil {
		return nc, err
	}
	begin := time.Now()
	tc := tls.Client(nc, t.tls)
	if err := tc.HandshakeContext(ctx); err != nil {
		nc.Close()
		return nil, handshakeFailure(err)
	}
	state := tc.ConnectionState()
	if (state.NegotiatedProtocol == "h2") != t.http2 {
		nc.Close()
		return nil, errWrongALPN
	}
	e.handshake, e.resumed = time.Since(begin), state.DidResume
	return tc, nil
}

// keep stores the connection. It closes it instead, and reports false, if the thread has closed the link meanwhile.
func (l *link) keep(nc net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		nc.Close()
		return false
	}
	l.nc = nc
	return true
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.cancel()
	switch tc, isTLS := l.nc.(*tls.Conn); {
	case l.nc == nil:
	case isTLS && (l.busy || l.unheard > 0): // Close would wait for a server that does not read
		tc.NetConn().Close()
	default:
		l.nc.Close()
	}
}
