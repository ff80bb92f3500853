package gallop

import (
	"context"
	"net"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/filetree"
	"github.com/gallop-http/gallop/internal/testhook"
)

func init() {
	testhook.RaceEnabled = bufpool.Poisons
	testhook.ServeAccepted = func(server any, c net.Conn) error { return server.(*Server).serveOne(c, &conn.Listener{}) }
	testhook.WatchMoves, testhook.Moves = conn.WatchPhases, conn.Moves
	testhook.SetFileYouth = filetree.SetYouth
	testhook.ConnectBy = func(dialer any, connect func(ctx context.Context, network, addr string) (net.Conn, error)) {
		dialer.(*TCPDialer).connect = connect
	}
	testhook.PipelineState = func(client any) (conns, slots, ahead, window int) {
		c := client.(*PipelineClient)
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.conns) > 0 {
			ahead = c.conns[0].sent.len()
		}
		return len(c.conns), len(c.slots), ahead, c.window
	}
}
