package dial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/callback"
)

// After a failed lookup, dials to the name fail for this long without another lookup. The first value is for names that
// do not exist, the second for all other failures.
const (
	unknownNameDuration  = 5 * time.Second
	failedLookupDuration = time.Second
)

// maxNames limits the names in a cache.
const maxNames = 4096

// Resolver looks up the addresses of names. *net.Resolver is one.
type Resolver interface {
	LookupIPAddr(ctx context.Context, name string) ([]net.IPAddr, error)
}

// nameCache keeps the addresses of names. Dials that need the same name at the same time share one lookup. The cache has
// no goroutine. It replaces an expired entry when a dial needs the name again. It removes all expired entries when the
// number of names has doubled since the last removal.
type nameCache struct {
	mu      sync.Mutex
	entries map[string]*nameEntry
	sweepAt int // search for expired entries when the cache has so many
}

// nameEntry is a running lookup until done is closed, and the result of the lookup after that.
type nameEntry struct {
	done    chan struct{}
	cancel  context.CancelFunc // of the lookup
	waiting int                // dials that wait for the lookup; guarded by nameCache.mu

	// Written before done is closed.
	first, second []netip.Addr // of the family to try first, and of the other family
	err           error
	expires       time.Time

	turn     atomic.Uint32 // rotates the addresses
	fallback atomic.Bool   // the last connection used an address of second
}

// lookup returns the addresses of name. If the name is not in the cache, lookup
// waits for a Resolver, but not longer than ctx allows.
func (c *nameCache) lookup(ctx context.Context, o *Options, name string) (*nameEntry, error) {
	key := strings.ToLower(name)
	e, known := c.join(ctx, o, key)
	defer c.leave(key, e)
	if known {
		return e, e.err
	}
	trace := TraceOf(ctx)
	trace.onDNSStart(name)
	select {
	case <-e.done:
		trace.onDNSDone(name, e.addrs(), e.err)
		return e, e.err
	case <-ctx.Done():
		trace.onDNSDone(name, nil, ctx.Err())
		return nil, ctx.Err()
	}
}

// join returns the entry of a name, and starts a lookup if there is no entry. known reports whether the lookup was
// already complete.
func (c *nameCache) join(ctx context.Context, o *Options, name string) (e *nameEntry, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e = c.entries[name]
	if e != nil && e.isDone() && !time.Now().Before(e.expires) {
		e = nil
	}
	if e == nil {
		e = c.begin(ctx, o, name)
	}
	e.waiting++
	return e, e.isDone()
}

// begin starts the lookup of a name. The lookup goes on as long as any dial waits for it, even if the first dial gives
// up.
func (c *nameCache) begin(ctx context.Context, o *Options, name string) *nameEntry {
	c.makeRoom()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e := &nameEntry{done: make(chan struct{}), cancel: cancel}
	c.entries[name] = e
	var found []net.IPAddr
	var err error
	callback.Go(func() { found, err = o.Resolver.LookupIPAddr(ctx, name) }, func(failure error) {
		defer cancel()
		if failure != nil {
			found, err = nil, failure
		}
		c.finish(name, e, found, err, o.Keep)
	})
	return e
}

// finish stores the result of a lookup and how long the result is valid.
func (c *nameCache) finish(name string, e *nameEntry, found []net.IPAddr, err error, keep time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.first, e.second = byFamily(found)
	if err == nil && len(e.first) == 0 {
		err = &net.DNSError{Err: "no address", Name: name, IsNotFound: true}
	}
	if e.err = err; err != nil {
		e.first, e.second = nil, nil
		keep = min(keep, failureDuration(err))
	}
	e.expires = time.Now().Add(keep)
	if keep <= 0 {
		c.forget(name, e)
	}
	close(e.done)
}

// leave is called when a dial stops waiting. If no other dial waits for a running lookup, leave cancels the lookup.
func (c *nameCache) leave(name string, e *nameEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.waiting--; e.waiting == 0 && !e.isDone() {
		e.cancel()
		c.forget(name, e)
	}
}

// forget removes an entry unless another entry has replaced it.
func (c *nameCache) forget(name string, e *nameEntry) {
	if c.entries[name] == e {
		delete(c.entries, name)
	}
}

func (c *nameCache) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.sweepAt = nil, 0
}

// makeRoom makes room for another entry. It removes expired entries first, and then arbitrary ones.
func (c *nameCache) makeRoom() {
	if c.entries == nil {
		c.entries, c.sweepAt = map[string]*nameEntry{}, maxNames/64
	}
	if len(c.entries) < c.sweepAt {
		return
	}
	now := time.Now()
	for name, e := range c.entries {
		if e.isDone() && now.After(e.expires) {
			delete(c.entries, name)
		}
	}
	for name, e := range c.entries {
		if len(c.entries) < maxNames {
			break
		}
		if e.isDone() {
			delete(c.entries, name)
		}
	}
	c.sweepAt = max(maxNames/64, min(2*len(c.entries), maxNames))
}

// failureDuration returns how long a failed lookup is not tried again.
func failureDuration(err error) time.Duration {
	var e *net.DNSError
	if errors.As(err, &e) && e.IsNotFound {
		return unknownNameDuration
	}
	return failedLookupDuration
}

func (e *nameEntry) isDone() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// addrs returns all addresses.
func (e *nameEntry) addrs() []netip.Addr { return interleave(e.first, e.second, 0) }

// inTurn returns the addresses in the order in which a dial should try them. The caller owns the slice. Each call begins
// with another address, which spreads the load. The family of the last connection comes first (RFC 8305 §4).
func (e *nameEntry) inTurn() []netip.Addr {
	first, second := e.first, e.second
	if e.fallback.Load() {
		first, second = second, first
	}
	return interleave(first, second, e.turn.Add(1)-1)
}

// won records the address of a new connection.
func (e *nameEntry) won(addr netip.Addr) { e.fallback.Store(addr.Is4() != e.first[0].Is4()) }

// byFamily returns the addresses of the first address's family, and the addresses of the other family.
func byFamily(found []net.IPAddr) (first, second []netip.Addr) {
	for _, ip := range found {
		addr, ok := netip.AddrFromSlice(ip.IP)
		if !ok {
			continue
		}
		if addr = addr.Unmap(); addr.Is6() {
			addr = addr.WithZone(ip.Zone)
		}
		if len(first) == 0 || first[0].Is4() == addr.Is4() {
			first = append(first, addr)
		} else {
			second = append(second, addr)
		}
	}
	return first, second
}
