package dial

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/gallop-http/gallop/internal/callback"
)

// stagger is how long an attempt may take before the next address is tried as well. RFC 8305 §5 recommends this value.
const stagger = 250 * time.Millisecond

// attempt is the result of connecting to one address.
type attempt struct {
	nc   net.Conn
	addr netip.Addr
	err  error

	failure error // of a callback, see callback.Go
}

// race returns the first connection to one of the addresses, and closes other connections that attempts make. Attempts
// begin in order. The next attempt begins when stagger has passed or an attempt has failed (RFC 8305 §5). If all
// attempts fail, race returns the error of the first failure, because the best addresses are tried first.
func (o *Options) race(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, netip.Addr, error) {
	if len(addrs) == 1 {
		nc, err := o.connectTo(ctx, "tcp", netip.AddrPortFrom(addrs[0], port).String())
		return nc, addrs[0], err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan attempt)
	timer := time.NewTimer(stagger)
	defer timer.Stop()

	var first error
	next, running := 0, 0
	begin := func() {
		o.attempt(ctx, addrs[next], port, results)
		next++
		running++
		timer.Reset(stagger)
	}
	begin()
	for {
		select {
		case a := <-results:
			if running--; a.failure != nil {
				return nil, a.addr, callback.Again(a.failure)
			}
			if a.err == nil {
				return a.nc, a.addr, nil
			}
			if first == nil {
				first = a.err
			}
			if next < len(addrs) {
				begin()
			} else if running == 0 {
				return nil, netip.Addr{}, first
			}
		case <-timer.C:
			if next < len(addrs) {
				begin()
			}
		case <-ctx.Done():
			return nil, netip.Addr{}, ctx.Err()
		}
	}
}

// attempt connects to one address on its own goroutine and sends the result. After ctx is done, it closes the connection
// instead.
func (o *Options) attempt(ctx context.Context, addr netip.Addr, port uint16, results chan<- attempt) {
	a := attempt{addr: addr}
	callback.Go(func() {
		a.nc, a.err = o.connectTo(ctx, "tcp", netip.AddrPortFrom(addr, port).String())
	}, func(failure error) {
		a.failure = failure
		select {
		case results <- a:
		case <-ctx.Done():
			if a.nc != nil {
				a.nc.Close()
			}
		}
	})
}

// interleave returns addresses of both families alternately, beginning with the first family (RFC 8305 §4). rotate is
// the index at which both lists begin.
func interleave(first, second []netip.Addr, rotate uint32) []netip.Addr {
	mixed := make([]netip.Addr, 0, len(first)+len(second))
	for i := range max(len(first), len(second)) {
		for _, family := range [...][]netip.Addr{first, second} {
			if i < len(family) {
				mixed = append(mixed, family[(uint64(i)+uint64(rotate))%uint64(len(family))])
			}
		}
	}
	return mixed
}
