package gallop

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// ConnState is the state of a client's connection to a server. See [Server.ConnState].
type ConnState int

const (
	// StateNew is the state of an accepted connection until the first byte of a request arrives.
	StateNew ConnState = iota

	// StateActive is the state of a connection from the first byte of a request until the response has been sent. An
	// HTTP/2 connection is active as long as it has open streams. Several handlers can run at once for an HTTP/2
	// connection.
	StateActive

	// StateIdle is the state of a connection that waits for its next request after the last response has been sent.
	StateIdle

	// StateHijacked is the state of a connection that a handler has hijacked. StateHijacked is the last state reported
	// for a hijacked connection.
	StateHijacked

	// StateClosed is the state of a closed connection. StateClosed is the last state reported for every connection that
	// was not hijacked.
	StateClosed
)

var connStateNames = [...]string{"new", "active", "idle", "hijacked", "closed"}

// String returns the name of the state in lower case.
func (s ConnState) String() string {
	if s < 0 || int(s) >= len(connStateNames) {
		return "unknown"
	}
	return connStateNames[s]
}

// connTable knows the listeners and connections of a server and counts them.
type connTable struct {
	open atomic.Int32 // connections accepted and not yet ended, in the ring or on their way to it

	rejectedFull, rejectedPerIP atomic.Uint64 // connections, by the reason

	mu        sync.Mutex
	listeners map[*servedListener]struct{}
	added     uint64     // how many listeners there ever were
	closeErrs []error    // of listeners
	conns     tableEntry // head of a ring of all connections, and of entries without one that are bookmarks
	accepted  uint64     // how many connections were ever added
	closing   bool
	closingC  chan struct{}            // closed when closing becomes true
	cut       bool                     // closeAll was called
	cutting   map[*tableEntry]struct{} // connections in the ring whose Close has not returned, since closeAll
	ended     sync.Cond                // a connection or listener was dropped

	maxPerIP int
	perIP    map[netip.Addr]*clientConns // guarded by mu; only with maxPerIP
}

// tableEntry is a connection in a table.
type tableEntry struct {
	nc     net.Conn
	state  atomic.Int32 // a connPhase
	served atomic.Bool  // it has brought a request
	client *clientConns // who it is counted for, if it is; guarded by the table's lock, like the links

	context *connContext // nil if the server has no contexts for connections

	next, prev *tableEntry
}

// clientConns are the connections of a client.
type clientConns struct {
	from netip.Addr
	n    int
}

func (t *connTable) init(maxPerIP int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closingC = make(chan struct{})
	t.listeners = map[*servedListener]struct{}{}
	t.conns.next, t.conns.prev = &t.conns, &t.conns
	t.ended.L = &t.mu
	if t.maxPerIP = maxPerIP; maxPerIP > 0 {
		t.perIP = map[netip.Addr]*clientConns{}
	}
}

// add puts c, which has been counted in open, into the ring. It fails if c's client
// has too many connections, or if all connections were closed meanwhile.
func (t *connTable) add(c *tableEntry) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return net.ErrClosed
	}
	if t.maxPerIP > 0 {
		if err := t.count(c); err != nil {
			return err
		}
	}
	t.accepted++
	c.prev, c.next = t.conns.prev, &t.conns
	c.prev.next, c.next.prev = c, c
	return nil
}

// count counts c for its client, unless that has too many connections. t is locked.
func (t *connTable) count(c *tableEntry) error {
	from := clientNetwork(c.nc.RemoteAddr())
	if !from.IsValid() {
		return nil
	}
	client := t.perIP[from]
	if client == nil {
		client = &clientConns{from: from}
		t.perIP[from] = client
	}
	if client.n >= t.maxPerIP {
		return ErrPerIPConnLimit
	}
	client.n++
	c.client = client
	return nil
}

// leave takes a connection that is not in the ring out of the count.
func (t *connTable) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.left()
}

// left counts a connection out and tells those who wait for that.
func (t *connTable) left() {
	t.open.Add(-1)
	t.ended.Broadcast()
}

// drop takes c out of the ring and out of the count, unless it was before.
func (t *connTable) drop(c *tableEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.next == nil {
		return
	}
	defer t.left()
	c.prev.next, c.next.prev = c.next, c.prev
	c.next, c.prev = nil, nil
	delete(t.cutting, c)
	if c.client != nil {
		if c.client.n--; c.client.n == 0 {
			delete(t.perIP, c.client.from)
		}
		c.client = nil
	}
}

// each calls f for every connection, with the table locked.
func (t *connTable) each(f func(*tableEntry)) {
	for c := t.conns.next; c != nil && c != &t.conns; { // nil before init
		next := c.next
		if c.nc != nil {
			f(c)
		}
		c = next
	}
}

// clientNetwork is what connections are counted by: an IPv4 address, or the /64
// of an IPv6 address. It is not valid for other kinds of address.
func clientNetwork(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return ip
}
