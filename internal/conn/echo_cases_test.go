package conn_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// echoTransport is a way in which the same promises are kept.
type echoTransport struct {
	name   string
	memory bool // in virtual time
	listen func(t *testing.T, s *echoServer) (ln net.Listener, dial func() (net.Conn, error))
}

var echoTransports = []echoTransport{
	{"goroutine/memory", true, func(*testing.T, *echoServer) (net.Listener, func() (net.Conn, error)) {
		ln := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		return ln, ln.dial
	}},
	{"goroutine/tcp", false, func(t *testing.T, s *echoServer) (net.Listener, func() (net.Conn, error)) {
		ln, dial := listenTCP(t)
		return struct{ net.Listener }{ln}, dial // which has no descriptor that a loop could watch
	}},
	{"goroutine/tls", false, func(t *testing.T, s *echoServer) (net.Listener, func() (net.Conn, error)) {
		ln, _ := listenTCP(t)
		return struct{ net.Listener }{tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{echoCertificate()}})}, func() (net.Conn, error) {
			return tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		}
	}},
}

// echoCertificate returns a certificate that only tests accept.
var echoCertificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

// below returns what is below TLS.
func below(nc net.Conn) net.Conn {
	for {
		c, ok := nc.(interface{ NetConn() net.Conn })
		if !ok {
			return nc
		}
		nc = c.NetConn()
	}
}

// reset resets a client's connection.
func reset(nc net.Conn) {
	switch c := below(nc).(type) {
	case *net.TCPConn:
		_ = c.SetLinger(0)
		_ = c.Close()
	case *wiretest.Conn:
		c.Reset()
	}
}

// narrow has a client's connection take little that is not read: n bytes if it is in memory, and more if it is a socket.
func narrow(nc net.Conn, n int) {
	switch c := below(nc).(type) {
	case *net.TCPConn:
		_ = c.SetReadBuffer(max(n, 4<<10))
	case *wiretest.Conn:
		c.SetWindow(n)
	}
}

func listenTCP(t *testing.T) (net.Listener, func() (net.Conn, error)) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln, func() (net.Conn, error) { return net.Dial("tcp", ln.Addr().String()) }
}

// pipeListener is a listener in memory.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (ln *pipeListener) dial() (net.Conn, error) {
	client, server := wiretest.Pipe()
	select {
	case ln.conns <- server:
		return client, nil
	case <-ln.closed:
		return nil, net.ErrClosed
	}
}

func (ln *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-ln.conns:
		return c, nil
	case <-ln.closed:
		return nil, net.ErrClosed
	}
}

func (ln *pipeListener) Close() error {
	ln.once.Do(func() { close(ln.closed) })
	return nil
}

func (ln *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// echoRig is a server that runs, for a test.
type echoRig struct {
	*testing.T
	memory bool
	s      *echoServer
	dial   func() (net.Conn, error)
	down   func(ctx context.Context) error
}

// overEcho runs a test over every transport.
func overEcho(t *testing.T, change func(*echoServer), test func(r *echoRig)) {
	for _, tr := range echoTransports {
		t.Run(tr.name, func(t *testing.T) {
			if tr.memory {
				synctest.Test(t, func(t *testing.T) { tr.run(t, change, test) })
				return
			}
			wiretest.CheckLeaks(t)
			tr.run(t, change, test)
		})
	}
}

// overEchoTogether runs a test over all transports at once, because most of its time is waiting.
func overEchoTogether(t *testing.T, change func(*echoServer), test func(r *echoRig)) {
	wiretest.CheckLeaks(t)
	var all sync.WaitGroup
	for _, tr := range echoTransports {
		all.Go(func() {
			t.Run(tr.name, func(t *testing.T) {
				if tr.memory {
					synctest.Test(t, func(t *testing.T) { tr.run(t, change, test) })
					return
				}
				tr.run(t, change, test)
			})
		})
	}
	all.Wait()
}

func (tr echoTransport) run(t *testing.T, change func(*echoServer), test func(r *echoRig)) {
	r := &echoRig{T: t, memory: tr.memory, s: newEchoServer()}
	r.s.onSockets = !tr.memory
	if change != nil {
		change(r.s)
	}
	ln, dial := tr.listen(t, r.s)
	served, down := make(chan error, 1), false
	r.dial = dial
	go func() { served <- r.s.Serve(ln) }()
	r.down = func(ctx context.Context) error {
		down = true
		return r.s.Shutdown(ctx)
	}
	defer func() {
		if t.Failed() {
			_ = ln.Close()
			r.s.Table.CloseAll(0)
		}
	}()
	test(r)
	if !down {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := r.down(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	for begun := time.Now(); r.s.late.Load() > 0 && time.Since(begun) < 10*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	for _, wrong := range r.s.allWrong() {
		t.Error(wrong)
	}
	if n := r.s.Table.Open.Load(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// client returns a client with its own connection, which is closed when the test ends.
func (r *echoRig) client() *echoClient {
	nc, err := r.dial()
	if err != nil {
		r.Fatal(err)
	}
	_ = nc.SetDeadline(time.Now().Add(time.Minute))
	c := newEchoClient(nc)
	go c.read(4<<10, nil)
	return c
}

func (r *echoRig) send(c *echoClient, frames ...[]byte) {
	r.Helper()
	for _, p := range frames {
		if err := c.write(p); err != nil {
			r.Fatal(err)
		}
	}
}

// open begins an exchange, of which n bytes of body follow.
func (r *echoRig) open(c *echoClient, name string, n int) *echoCall {
	r.Helper()
	x, out := c.begin(name)
	r.send(c, out)
	if n > 0 {
		r.send(c, c.more(x, n))
	}
	return x
}

// whole is open for an exchange with all its body.
func (r *echoRig) whole(c *echoClient, name string, n int) *echoCall {
	r.Helper()
	x := r.open(c, name, n)
	r.send(c, appendFrame(nil, x.id, frameEnd, ""))
	return x
}

// want waits for the last frame of an exchange: frameEnd, or frameReset with a reason.
func (r *echoRig) want(c *echoClient, x *echoCall, reason string) {
	r.Helper()
	if wrong := c.until(func() bool { return x.kind != 0 }); wrong != "" {
		r.Fatalf("%s: %s", x.name, wrong)
	}
	if reason == "" && x.kind != frameEnd || reason != "" && (x.kind != frameReset || x.text != reason) {
		r.Fatalf("%s: %c %q, want %q", x.name, x.kind, x.text, reason)
	}
}

// inTime makes an exchange that ends well, and returns its client. On sockets, a client may be too late for the time limits
// because the machine is busy. If so, inTime tries again.
func (r *echoRig) inTime(name string) *echoClient {
	r.Helper()
	for try := 0; ; try++ {
		c := r.client()
		x, out := c.begin(name)
		err := c.write(appendFrame(out, x.id, frameEnd, ""))
		wrong := c.until(func() bool { return x.kind != 0 })
		if err == nil && wrong == "" && x.kind == frameEnd {
			return c
		}
		_ = c.conn.Close()
		if r.memory || try == 20 {
			r.Fatalf("%s: %v, %s, %c %q", name, err, wrong, x.kind, x.text)
		}
	}
}

// closed waits until the server has ended the connection in order.
func (r *echoRig) closed(c *echoClient) {
	r.Helper()
	if c.until(func() bool { return c.over != nil }); c.over != io.EOF {
		r.Errorf("the connection ended: %v", c.over)
	}
	_ = c.conn.Close()
}

// Sixteen exchanges at once, whose bodies come and go in small pieces by turns.
func TestEchoBothWays(t *testing.T) {
	overEcho(t, nil, func(r *echoRig) {
		c := r.client()
		defer c.conn.Close()
		c.split = func([]byte) int { return 1 }
		var calls []*echoCall
		for i := range mostOpen {
			calls = append(calls, r.open(c, fmt.Sprint("echo - ", i), 3))
		}
		for range 3 {
			for _, x := range calls {
				r.send(c, c.more(x, 5))
			}
		}
		c.split = nil
		for _, x := range calls {
			r.send(c, c.more(x, 2000), appendFrame(nil, x.id, frameEnd, ""))
		}
		for _, x := range calls {
			r.want(c, x, "")
		}
	})
}

// More than sixteen are refused, one by one.
func TestEchoTooMany(t *testing.T) {
	overEcho(t, nil, func(r *echoRig) {
		c := r.client()
		defer c.conn.Close()
		var calls []*echoCall
		for range mostOpen {
			calls = append(calls, r.open(c, "echo", 0))
		}
		r.want(c, r.whole(c, "now", 0), reasonMany)
		for _, x := range calls {
			r.send(c, appendFrame(nil, x.id, frameEnd, ""))
			r.want(c, x, "")
		}
		r.want(c, r.whole(c, "now", 0), "")
	})
}

// A slow handler does not hold up fast ones on the same connection: neither if it is known to be slow, nor if it was fast
// until now, so that it runs on the loop.
func TestEchoSlowBesideFast(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	overEcho(t, nil, func(r *echoRig) {
		c := r.client()
		defer c.conn.Close()
		for range 100 {
			r.want(c, r.whole(c, "maybe now", 0), "")
			r.want(c, r.whole(c, "now", 0), "")
		}
		for _, name := range []string{"maybe hang", "maybe wait", "block", "maybe hang", "late"} {
			slow := r.whole(c, name, 0)
			for range 20 {
				r.want(c, r.whole(c, "now", 0), "")
				r.want(c, r.whole(c, "echo", 100), "")
			}
			r.send(c, appendFrame(nil, slow.id, frameReset, ""))
			r.want(c, slow, reasonReset)
		}
	})
}

// The client, a deadline, or a panic ends one exchange and no other one.
func TestEchoOneEnds(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	overEcho(t, nil, func(r *echoRig) {
		c := r.client()
		defer c.conn.Close()
		other := r.open(c, "echo", 100)
		blocked, more := r.open(c, "block", 10), r.open(c, "echo 1ms more", 10)
		r.send(c, appendFrame(nil, blocked.id, frameReset, ""), appendFrame(nil, more.id, frameReset, ""), c.more(blocked, 10))
		r.want(c, blocked, reasonReset)
		r.want(c, more, reasonReset)
		r.want(c, r.open(c, "10ms@echo", 100), reasonDeadline)
		r.want(c, r.open(c, "10ms@block", 100), reasonDeadline)
		r.want(c, r.whole(c, "panic", 100), reasonPanic)
		large := r.open(c, "block", 0)
		r.send(c, c.more(large, mostBody/2), c.more(large, mostBody/2), c.more(large, 1))
		r.want(c, large, reasonBody)
		r.send(c, c.more(other, 1000), appendFrame(nil, other.id, frameEnd, ""))
		r.want(c, other, "")
	})
}

// A handler whose time is over is left behind. It goes on while the connection does, and after it, and hurts nobody.
func TestEchoLeftBehind(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	overEchoTogether(t, func(s *echoServer) { s.limit = s.handlerTime() }, func(r *echoRig) {
		c := r.client()
		late := []*echoCall{r.open(c, "late", 100), r.whole(c, "late", 100), r.open(c, "maybe hang", 100)}
		for _, x := range late {
			r.want(c, x, reasonLate)
		}
		for i := range 100 {
			r.want(c, r.whole(c, fmt.Sprint("sum - ", i), 10), "")
		}
		_ = c.conn.Close()
	})
}

// Shutdown waits for the exchanges that have begun, and ends connections without any.
func TestEchoShutdown(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	overEcho(t, nil, func(r *echoRig) {
		c, idle := r.client(), r.client()
		others := []*echoClient{c, idle}
		if r.memory { // it takes half a second
			others = append(others, r.client())
		}
		r.want(idle, r.whole(idle, "now", 0), "")
		calls := []*echoCall{r.whole(c, "now 100ms", 0), r.whole(c, "big 100000", 0), r.open(c, "echo", 100), r.open(c, "sum", 100)}
		for _, x := range calls {
			if wrong := c.until(func() bool { return x.begun }); wrong != "" {
				r.Fatal(wrong)
			}
		}
		down := make(chan error, 1)
		go func() { down <- r.down(r.Context()) }()
		if wrong := c.until(func() bool { return c.away }); wrong != "" {
			r.Fatal(wrong)
		}
		refused := r.whole(c, "now", 0)
		for _, x := range calls[2:] {
			r.send(c, c.more(x, 1000), appendFrame(nil, x.id, frameEnd, ""))
		}
		for _, x := range calls {
			r.want(c, x, "")
		}
		if refused.kind != frameAway {
			r.Errorf("an exchange after frameAway: %c %q", refused.kind, refused.text)
		}
		for _, c := range others {
			r.closed(c)
		}
		if err := <-down; err != nil {
			r.Errorf("Shutdown: %v", err)
		}
	})
}

// If its time is over, Shutdown ends connections with exchanges, whose handlers learn it.
func TestEchoShutdownCutsOff(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	overEcho(t, nil, func(r *echoRig) {
		c := r.client()
		blocked := r.open(c, "block", 0)
		if wrong := c.until(func() bool { return blocked.begun }); wrong != "" {
			r.Fatal(wrong)
		}
		ctx, cancel := context.WithTimeout(r.Context(), 50*time.Millisecond)
		defer cancel()
		if err := r.down(ctx); err != context.DeadlineExceeded {
			r.Errorf("Shutdown: %v", err)
		}
		c.until(func() bool { return c.over != nil })
		r.s.Table.WaitEmpty(r.Context())
		_ = c.conn.Close()
	})
}

// The client goes away, or sends nothing more.
func TestEchoClientEnds(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	overEcho(t, nil, func(r *echoRig) {
		c := r.client()
		blocked, slow, echo := r.open(c, "block", 0), r.whole(c, "now 20ms", 0), r.whole(c, "echo 10ms", 1000)
		if err := c.conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			r.Fatal(err)
		}
		r.want(c, blocked, reasonReset)
		r.want(c, slow, "")
		r.want(c, echo, "")
		r.closed(c)

		c = r.client()
		for _, name := range []string{"block", "echo", "now 20ms", "big 100000"} {
			r.open(c, name, 10)
		}
		_ = c.conn.Close()
		r.s.Table.WaitEmpty(r.Context())
	})
}

// A client that resets the connection ends all exchanges. One that sends nothing more does not.
func TestEchoClientResets(t *testing.T) {
	overEcho(t, nil, func(r *echoRig) {
		c := r.client()
		blocked := r.whole(c, "block", 0)
		if wrong := c.until(func() bool { return blocked.begun }); wrong != "" {
			r.Fatal(wrong)
		}
		reset(c.conn)
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
		defer cancel()
		defer context.AfterFunc(ctx, r.s.Table.Wake)()
		if !r.s.Table.WaitEmpty(ctx) {
			r.Error("the connection goes on")
		}
	})
}

// A connection that stays idle ends, and so does one whose client takes nothing. One with exchanges does not.
func TestEchoTimes(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	overEchoTogether(t, func(s *echoServer) { s.set.Idle, s.set.Progress = 50*time.Millisecond, 100*time.Millisecond }, func(r *echoRig) {
		c := r.inTime("now 150ms")
		begun := time.Now()
		r.closed(c)
		if took := time.Since(begun); r.memory && took < 45*time.Millisecond {
			r.Errorf("idle for %v", took)
		}
		nc, err := r.dial()
		if err != nil {
			r.Fatal(err)
		}
		defer nc.Close()
		narrow(nc, 100)
		stuck := newEchoClient(nc)
		for range mostOpen {
			r.whole(stuck, "flood 2000", 0)
		}
		if c, ok := nc.(*tls.Conn); ok && r.s.dialBelow == nil { // Close of crypto/tls tries to send an alert for 5 s
			r.s.mu.Lock()
			wire := r.s.last
			r.s.mu.Unlock()
			for isOver := false; !isOver; time.Sleep(time.Millisecond) {
				wire.mu.Lock()
				isOver = wire.over
				wire.mu.Unlock()
			}
			_ = c.NetConn().Close()
		}
		r.s.Table.WaitEmpty(r.Context())
	})
}

// A client that breaks the rules loses its connection.
func TestEchoRules(t *testing.T) {
	for _, wrong := range []string{
		string(appendFrame(nil, 7, frameData, "of nothing")),
		string(appendFrame(appendFrame(nil, 7, frameOpen, "block"), 7, frameOpen, "block")),
		string(appendFrame(appendFrame(nil, 7, frameOpen, "block"), 7, 'X', "")),
	} {
		overEcho(t, nil, func(r *echoRig) {
			c := r.client()
			defer c.conn.Close()
			r.open(c, "block", 0)
			r.send(c, []byte(wrong))
			c.until(func() bool { return c.over != nil || strings.HasPrefix(c.wrong, "frame") })
			r.s.Table.WaitEmpty(r.Context())
		})
	}
}
