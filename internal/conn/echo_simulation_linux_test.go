package conn_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// TestEchoSimulation has conversations at random, each by its own seed, over event loops on a simulated system. Goroutines
// stop for some time at system calls, so that loops are overtaken there. Reads and writes move less than they could. Clients
// begin exchanges of all kinds, send their bodies by turns and in any pieces, read slowly, reset exchanges, half-close, and
// break off; servers shut down in between. Some servers use TLS, whose records are cut anywhere. Every exchange has to see its own name and body, and nothing may be left over.
//
// GALLOP_SEED is the first seed. GALLOP_FULL=1 has more conversations, and GALLOP_LONG=1 many more.
func TestEchoSimulation(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that a seed does nearly the same each time
	n := 200
	switch {
	case wiretest.Long():
		n = 20_000
	case bufpool.Poisons: // with the race detector
		n = 100
	case wiretest.Full():
		n = 500
	}
	first, err := strconv.Atoi(os.Getenv("GALLOP_SEED"))
	if err != nil {
		first = 1
	}
	var total echoCounts
	for seed := first; seed < first+n && !t.Failed(); seed++ {
		stuck := time.AfterFunc(5*time.Minute, func() { panic(fmt.Sprintf("seed %d does not end", seed)) })
		synctest.Test(t, func(t *testing.T) {
			m := &echoSimulation{T: t, seed: seed, rng: rand.New(rand.NewPCG(uint64(seed), 1)), total: &total}
			m.live()
		})
		stuck.Stop()
	}
	t.Logf("%+v", total)
	if n >= 200 && !t.Failed() && (total.Ended == 0 || total.Reset == 0 || total.Refused == 0 || total.Cut == 0 || total.Overtaken == 0 || total.OnLoop == 0 || total.OffLoop == 0) {
		t.Errorf("something never happens: %+v", total)
	}
}

// echoCounts is what has become of exchanges, and of the calls of their handlers.
type echoCounts struct {
	Ended, Reset, Refused, Cut int
	OnLoop, OffLoop, Overtaken uint64
}

// echoSimulation is a server and its clients.
type echoSimulation struct {
	*testing.T
	seed  int
	total *echoCounts
	s     *echoServer
	k     *wiretest.Kernel
	ln    *wiretest.KernelListener
	calm  bool       // nobody stops
	tls   bool       // the server uses TLS
	mu    sync.Mutex // guards what follows
	rng   *rand.Rand
	locks map[int]bool // descriptors that are used with locks held: the listener and the queues
}

func (m *echoSimulation) draw(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rng.IntN(n)
}

func (m *echoSimulation) sleep(most time.Duration) { time.Sleep(time.Duration(m.draw(int(most)))) }

func (m *echoSimulation) wrong(format string, args ...any) {
	m.Helper()
	m.Errorf("seed %d: %s", m.seed, fmt.Sprintf(format, args...))
}

// stop is called at every system call. At those for connections, goroutines stop now and then. The others are made with locks
// held.
func (m *echoSimulation) stop(call string, fd int) {
	m.mu.Lock()
	if call == "epoll_wait" {
		m.locks[fd] = true
	}
	stops := !m.calm && !m.locks[fd] && m.rng.IntN(24) == 0
	m.mu.Unlock()
	if stops {
		m.sleep(4 * time.Millisecond)
	}
}

func (m *echoSimulation) live() {
	m.s = newEchoServer()
	m.s.loop = dispatch(m.draw(3))
	m.s.limit = time.Duration(m.draw(2)) * 100 * time.Millisecond
	m.s.set.ReadBuf = 1 + m.draw(300)
	m.calm = m.draw(4) == 0
	m.k = m.s.kernel()
	m.s.Loops.N = 1 + m.draw(2)
	m.ln = m.k.Listen()
	var ln net.Listener = m.ln
	if m.tls = m.draw(3) == 0; m.tls {
		ln = &conn.TLSListener{Listener: ln, Config: echoTLS()}
	}
	_ = m.ln.Control(func(fd uintptr) { m.locks = map[int]bool{int(fd): true} })
	m.k.Step = m.stop
	served := make(chan error, 1)
	go func() { served <- m.s.Serve(ln) }()
	var clients sync.WaitGroup
	for i := range 1 + m.draw(3) {
		clients.Go(func() { m.client(i) })
	}
	if m.draw(3) > 0 {
		clients.Wait()
	} else {
		m.sleep(100 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(m.Context(), time.Hour)
	defer cancel()
	if err := m.s.Shutdown(ctx); err != nil {
		m.wrong("Shutdown: %v", err)
	}
	clients.Wait()
	if err := <-served; err != nil {
		m.wrong("Serve: %v", err)
	}
	for m.s.late.Load() > 0 {
		time.Sleep(time.Second)
	}
	time.Sleep(time.Second) // in which the loops end
	for _, wrong := range slices.Concat(m.s.allWrong(), m.k.Misuse()) {
		m.wrong("%s", wrong)
	}
	if n, open := m.k.Open(), m.s.Table.Open.Load(); n != 0 || open != 0 {
		m.wrong("%d descriptors and %d connections are left", n, open)
	}
	n := m.s.LoopCounts()
	m.total.OnLoop += n.OnLoop
	m.total.OffLoop += n.OffLoop
	m.total.Overtaken += n.Overtaken
}

// echoSocket is the server's end of a connection. Its calls do less than they could now and then.
type echoSocket struct {
	*wiretest.Conn
	m        *echoSimulation
	mu       sync.Mutex
	happened func()
}

// Watch notes who has to be told of events.
func (s *echoSocket) Watch(f func()) {
	s.mu.Lock()
	s.happened = f
	s.mu.Unlock()
	s.Conn.Watch(f)
}

// TryRead reads less than there is now and then, or nothing. The rest comes later.
func (s *echoSocket) TryRead(p []byte) (int, error) { return s.less(p, s.Conn.TryRead, s.event) }

// TryWrite does so with writing.
func (s *echoSocket) TryWrite(p []byte) (int, error) { return s.less(p, s.Conn.TryWrite, s.room) }

func (s *echoSocket) less(p []byte, call func([]byte) (int, error), later func()) (int, error) {
	if len(p) < 2 || s.m.draw(8) > 0 {
		return call(p)
	}
	time.AfterFunc(time.Duration(s.m.draw(2_000_000)), later)
	if n := s.m.draw(min(len(p), 64)); n > 0 {
		return call(p[:n])
	}
	return 0, syscall.EAGAIN
}

// room calls event as soon as there is room. A write that fits has no event of its own.
func (s *echoSocket) room() {
	if s.Conn.Ready().Write {
		s.event()
	} else {
		time.AfterFunc(time.Millisecond, s.room)
	}
}

// event tells that there may be bytes or room.
func (s *echoSocket) event() {
	s.mu.Lock()
	f := s.happened
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

// halfCloser is a connection of a client.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// dial returns nil if the server is shutting down.
func (m *echoSimulation) dial() halfCloser {
	nc, server := wiretest.Pipe()
	if m.draw(2) == 0 {
		nc.SetWindow(1 + m.draw(2000))
	}
	if m.ln.Connect(&echoSocket{Conn: server, m: m}) == nil {
		return nil
	}
	_ = nc.SetDeadline(time.Now().Add(30 * time.Minute))
	if !m.tls {
		return nc
	}
	secure, err := shakenClient(nc)
	if err != nil {
		if !m.s.Stopping.Load() {
			m.wrong("handshake: %v", err)
		}
		return nil
	}
	return secure
}

// client has a conversation.
func (m *echoSimulation) client(number int) {
	m.sleep(20 * time.Millisecond)
	nc := m.dial()
	if nc == nil {
		return
	}
	defer nc.Close()
	c := newEchoClient(nc)
	pieces := 1 + m.draw(600)*m.draw(2)
	c.split = func(p []byte) int {
		if m.draw(10) == 0 {
			m.sleep(3 * time.Millisecond)
		}
		return min(len(p), 1+m.draw(pieces))
	}
	var reads sync.WaitGroup
	slow := m.draw(3) == 0
	reads.Go(func() {
		c.read(1+m.draw(5000), func() {
			if slow && m.draw(10) == 0 {
				m.sleep(5 * time.Millisecond)
			}
		})
	})
	cut := m.converse(c, number, nc)
	if cut {
		_ = nc.Close()
	}
	reads.Wait()
	m.judge(c, cut)
}

// converse sends exchanges until there are enough of them. It reports whether the client breaks off.
func (m *echoSimulation) converse(c *echoClient, number int, nc halfCloser) (cut bool) {
	var sending []*echoCall
	left := 1 + m.draw(24)
	breaksOff := m.draw(8) == 0
	for left > 0 || len(sending) > 0 {
		if breaksOff && m.draw(10) == 0 {
			return true
		}
		var out []byte
		if i := m.draw(len(sending) + 1); i < len(sending) {
			x, over := sending[i], false
			if out, over = m.goOn(c, x); over {
				sending = slices.Delete(sending, i, i+1)
			}
		} else if left > 0 {
			if c.until(func() bool { return c.open < mostOpen || len(sending) > 0 }) != "" {
				break
			}
			left--
			var x *echoCall
			if x, out = c.begin(m.name(number, left)); x.kind == 0 {
				sending = append(sending, x)
			} else {
				out = nil
			}
		}
		if c.write(out) != nil {
			break
		}
	}
	if m.draw(4) == 0 {
		_ = nc.CloseWrite()
	}
	c.until(func() bool { return c.open == 0 })
	_ = nc.CloseWrite()
	return false
}

// name draws what an exchange is to do.
func (m *echoSimulation) name(client, number int) string {
	what := []string{
		"echo", "echo", "echo", "sum", "sum", "now", "now", "maybe now", fmt.Sprint("big ", m.draw(5000)),
		fmt.Sprintf("echo %dms", m.draw(30)), fmt.Sprintf("sum %dms", m.draw(30)), "maybe hang", "maybe wait", "block", "panic",
		fmt.Sprintf("%dms@echo", 1+m.draw(50)), fmt.Sprintf("%dms@block", 1+m.draw(50)), "late",
	}[m.draw(18)]
	if !slices.Contains([]byte(what), ' ') {
		what += " -"
	}
	return fmt.Sprintf("%s %d/%d", what, client, number)
}

// goOn returns the next frame of an exchange, and whether that is its last one.
func (m *echoSimulation) goOn(c *echoClient, x *echoCall) (out []byte, over bool) {
	word, arg := command(x.name)
	word = afterDeadline(word)
	waits := word == "block" || word == "late" || arg == "hang" || arg == "wait"
	switch r := m.draw(16); {
	case r == 0 || waits && r < 6:
		return appendFrame(nil, x.id, frameReset, ""), true
	case r < 6 && !waits:
		return appendFrame(nil, x.id, frameEnd, ""), true
	}
	return c.more(x, m.draw(1+m.draw(800))), false
}

// judge judges a conversation that is over.
func (m *echoSimulation) judge(c *echoClient, cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrong != "" {
		m.wrong("%s", c.wrong)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range c.calls {
		switch {
		case x.kind == frameEnd:
			m.total.Ended++
		case x.kind == frameReset:
			m.total.Reset++
		case x.kind == frameAway:
			m.total.Refused++
		case cut:
			m.total.Cut++
		case x.begun || !m.s.Stopping.Load():
			m.wrong("%s: has not ended, and the connection has: %v", x.name, c.over)
		default: // the server has ended the connection before it saw the exchange
			m.total.Refused++
		}
	}
	if m.tls && !cut && c.over == io.EOF && !notified(c.conn) {
		m.wrong("the connection ended without a close_notify")
	}
	if !cut && c.over != io.EOF && !m.s.Stopping.Load() {
		if ne, ok := c.over.(net.Error); !ok || ne.Timeout() {
			m.wrong("the connection ended: %v", c.over)
		}
	}
}
