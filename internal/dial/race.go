package dial

import (
	"context"
	"net"
	"net/netip"
	"time"

	"github.com/gallop-http/gallop/internal/callback"
)

// dialStagger is how long an address may take to answer before the next one is tried
// as well (RFC 8305 §5 recommends this value).
const dialStagger = 250 * time.Millisecond

// attempt is what became of connecting to one address.
type attempt struct {
	nc   net.Conn
	addr netip.Addr
	err  error

	failure error // of a callback, see callback.Go
}

// race connects to the first of the addresses that answers, and closes what others
// may have become until then. Attempts begin in order, the next one when dialStagger
// has passed or the one before has failed (RFC 8305 §5). The error is that of
// the first attempt that failed, as its address was the best one.
func (o *Options) race(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, netip.Addr, error) {
	if len(addrs) == 1 {
		nc, err := o.connectTo(ctx, "tcp", netip.AddrPortFrom(addrs[0], port).String())
		return nc, addrs[0], err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan attempt)
	timer := time.NewTimer(dialStagger)
	defer timer.Stop()

	var first error
	next, running := 0, 0
	begin := func() {
		o.attempt(ctx, addrs[next], port, results)
		next++
		running++
		timer.Reset(dialStagger)
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

// attempt connects to one address, on a goroutine of its own, and reports it, unless
// nobody waits for it any longer.
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

// interleave returns the addresses of both families in turn, beginning with the first
// family (RFC 8305 §4). rotate says at which entry the lists begin.
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
