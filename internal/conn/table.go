package conn

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Table knows the listeners and connections of a server and counts them.
type Table struct {
	Open atomic.Int32 // connections accepted and not yet ended, in the ring or on their way to it

	RejectedFull, RejectedPerIP atomic.Uint64 // connections, by the reason

	Mu        sync.Mutex
	listeners map[*Listener]struct{}
	added     uint64  // how many listeners there ever were
	closeErrs []error // of listeners
	conns     Entry   // head of a ring of all connections, and of entries without one that are bookmarks
	accepted  uint64  // how many connections were ever added
	closing   bool
	closingC  chan struct{}       // closed when closing becomes true
	cut       bool                // CloseAll was called
	cutting   map[*Entry]struct{} // connections in the ring whose Close has not returned, since CloseAll
	ended     sync.Cond           // a connection or listener was dropped

	maxPerIP int
	perIP    map[netip.Addr]*clientConns // guarded by mu; only with MaxPerIP
}

// Entry is a connection in a table.
type Entry struct {
	NC    net.Conn
	phase atomic.Int32  // see state.go
	marks atomic.Uint32 // markServed and markApart
	rare  *rareParts    // nil for most connections

	next, prev *Entry // guarded by the table's lock
}

const (
	markServed = 1 << iota // it has had a turn
	markApart              // CountStates does not count it as running, whatever its phase is
)

// rareParts are what few connections have. They are apart so that an idle connection is small. The goroutine that serves the
// connection uses them.
type rareParts struct {
	client  *clientConns // who the connection is counted for
	context *connContext
	loopParts
}

// withRare returns the rare parts of c, which has some from now on.
func (c *Entry) withRare() *rareParts {
	if c.rare == nil {
		c.rare = new(rareParts)
	}
	return c.rare
}

// dropRare forgets the rare parts if all of them are nil.
func (c *Entry) dropRare() {
	if *c.rare == (rareParts{}) {
		c.rare = nil
	}
}

func (c *Entry) setContext(of *connContext) {
	if of != nil {
		c.withRare().context = of
	}
}

// clientConns are the connections of a client.
type clientConns struct {
	from netip.Addr
	n    int
}

func (t *Table) init(maxPerIP int) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.closingC = make(chan struct{})
	t.listeners = map[*Listener]struct{}{}
	t.conns.next, t.conns.prev = &t.conns, &t.conns
	t.ended.L = &t.Mu
	if t.maxPerIP = maxPerIP; maxPerIP > 0 {
		t.perIP = map[netip.Addr]*clientConns{}
	}
}

// Add puts c, which has been counted in open, into the ring. It fails if c's client
// has too many connections, or if all connections were closed meanwhile.
func (t *Table) Add(c *Entry) error {
	t.Mu.Lock()
	defer t.Mu.Unlock()
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
func (t *Table) count(c *Entry) error {
	from := clientNetwork(c.NC.RemoteAddr())
	if !from.IsValid() {
		return nil
	}
	client := t.perIP[from]
	if client == nil {
		client = &clientConns{from: from}
		t.perIP[from] = client
	}
	if client.n >= t.maxPerIP {
		return ErrTooManyOfClient
	}
	client.n++
	c.withRare().client = client
	return nil
}

// uncount counts a connection of a client out. t is locked.
func (t *Table) uncount(client *clientConns) {
	if client.n--; client.n == 0 {
		delete(t.perIP, client.from)
	}
}

// Leave takes a connection that is not in the ring out of the count.
func (t *Table) Leave() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	t.left()
}

// left counts a connection out and tells those who wait for that.
func (t *Table) left() {
	t.Open.Add(-1)
	t.ended.Broadcast()
}

// Drop takes c out of the ring and out of the count, unless it was before.
func (t *Table) Drop(c *Entry) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if c.next == nil {
		return
	}
	defer t.left()
	c.prev.next, c.next.prev = c.next, c.prev
	c.next, c.prev = nil, nil
	delete(t.cutting, c)
	if c.rare != nil && c.rare.client != nil {
		t.uncount(c.rare.client)
		c.rare.client = nil
	}
}

// each calls f for every connection, with the table locked.
func (t *Table) each(f func(*Entry)) {
	for c := t.conns.next; c != nil && c != &t.conns; { // nil before init
		next := c.next
		if c.NC != nil {
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
