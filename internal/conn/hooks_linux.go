package conn

import (
	"net"

	"github.com/gallop-http/gallop/internal/poll"
)

// OnKernel returns the kernel of the loops. If they have none yet, create makes it and they get one loop.
func (lg *LoopGroup) OnKernel(create func() poll.Kernel) poll.Kernel {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	if lg.kernel == nil {
		lg.kernel, lg.N = create(), 1
	}
	return lg.kernel
}

// AwaitEnd waits until there is no connection from peer.
func (t *Table) AwaitEnd(peer net.Addr) {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	for {
		found := false
		t.each(func(c *Entry) { found = found || c.NC.RemoteAddr().String() == peer.String() })
		if !found {
			return
		}
		t.ended.Wait()
	}
}
