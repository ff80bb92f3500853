package gallop

import (
	"net"

	"github.com/gallop-http/gallop/internal/poll"
)

// onKernel returns the kernel of the loops. If they have none yet, create makes it and they get one loop.
func (lg *loopGroup) onKernel(create func() poll.Kernel) poll.Kernel {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	if lg.kernel == nil {
		lg.kernel, lg.n = create(), 1
	}
	return lg.kernel
}

// awaitEnd waits until there is no connection from peer.
func (t *connTable) awaitEnd(peer net.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		found := false
		t.each(func(c *tableEntry) { found = found || c.nc.RemoteAddr().String() == peer.String() })
		if !found {
			return
		}
		t.ended.Wait()
	}
}
