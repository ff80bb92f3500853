package gallop

import (
	"runtime"
	"sync/atomic"
)

// ServerStats counts the connections and requests of a Server, for metrics and dashboards. See [Server.Stats].
//
// The fields Connections, Active, Idle and Handshaking are current values. All other fields are counters that start at
// zero and never decrease. Stats reads the values one after another, so that sums of values can be slightly off.
type ServerStats struct {
	// Connections is the number of open connections, which is the sum of Active, Idle and Handshaking.
	Connections uint64

	// Active is the number of connections on which the server is reading a request, running a handler or writing a
	// response.
	Active uint64

	// Idle is the number of connections on which the server waits for the first or the next request.
	Idle uint64

	// Handshaking is the number of connections in a TLS handshake.
	Handshaking uint64

	// Accepted counts the connections that were accepted and not rejected, including connections passed to ServeConn.
	Accepted uint64

	// Rejected counts all rejected connections. Rejected is the sum of RejectedConcurrency and RejectedPerIP.
	Rejected uint64

	// RejectedConcurrency counts the connections that were rejected because of Server.Concurrency.
	RejectedConcurrency uint64

	// RejectedPerIP counts the connections that were rejected because of Server.MaxConnsPerIP.
	RejectedPerIP uint64

	// Requests counts the requests whose header has arrived completely. Some requests are not counted before their handler
	// has returned.
	Requests uint64

	// Refused counts the requests to which the server responded with an error instead of calling Handler.
	Refused uint64

	// RefusedConcurrency counts the requests that were refused because of Server.MaxConcurrentRequests. Refused
	// includes the requests in RefusedConcurrency.
	RefusedConcurrency uint64

	// BytesRead and BytesWritten count the bytes that were read from and written to connections, without TLS overhead.
	// The counters are updated after every 64 KiB on a connection, and when a connection becomes idle. Bytes on
	// hijacked connections are not counted.
	BytesRead, BytesWritten uint64

	// Loop counts the handler calls of event loops. If the server uses no event loops, all fields of Loop are zero.
	Loop LoopStats
}

// LoopStats counts the handler calls of event loops. Use LoopStats only for debugging, because its fields depend on
// implementation details and can change in any version.
type LoopStats struct {
	// Inline counts the handler calls that ran on a loop.
	Inline uint64

	// Pooled counts the handler calls that a loop passed to separate goroutines.
	Pooled uint64

	// Overtaken counts the handler calls that blocked their loop too long. The loop then continues without waiting for the
	// handler.
	Overtaken uint64

	// FastPlaces and UsedPlaces describe the table in which loops record how long handlers ran. For each combination of
	// method and path, the table has an entry. Several combinations can share one entry. UsedPlaces is the number of
	// entries in use. FastPlaces is the number of entries whose handlers are called on the loop.
	FastPlaces, UsedPlaces int
}

// Stats returns counters of connections and requests. Any goroutine may call Stats at any time. Stats looks at every
// connection, so call Stats every few seconds rather than for every request.
func (s *Server) Stats() ServerStats {
	stats := ServerStats{
		RejectedConcurrency: s.conns.rejectedFull.Load(),
		RejectedPerIP:       s.conns.rejectedPerIP.Load(),
		Loop:                s.loopStats(),
	}
	stats.RefusedConcurrency = s.busy.Load()
	stats.Refused = stats.RefusedConcurrency
	stats.Rejected = stats.RejectedConcurrency + stats.RejectedPerIP
	for i := range s.counts {
		n := &s.counts[i]
		stats.Requests += uint64(n.requests.Load())
		stats.Refused += uint64(n.refused.Load())
		stats.BytesRead += uint64(n.read.Load())
		stats.BytesWritten += uint64(n.written.Load())
	}
	s.conns.countStates(&stats)
	return stats
}

// GetCurrentConcurrency returns the number of open connections.
//
// Deprecated: use the Connections field of Stats.
func (s *Server) GetCurrentConcurrency() uint32 { return uint32(max(s.conns.open.Load(), 0)) }

// GetOpenConnectionsCount returns the number of open connections.
//
// Deprecated: use the Connections field of Stats.
func (s *Server) GetOpenConnectionsCount() int32 { return s.conns.open.Load() }

// GetRejectedConnectionsCount returns the number of connections that were rejected because of Concurrency or
// MaxConnsPerIP.
//
// Deprecated: use the Rejected field of Stats.
func (s *Server) GetRejectedConnectionsCount() uint32 {
	return uint32(s.conns.rejectedFull.Load() + s.conns.rejectedPerIP.Load())
}

// Requests and bytes are counted in the serverConn, in its input and in its output, each by the goroutine that may use that part. The counts
// are added to those of the server when the connection waits, and on event loops when the loop does. So no request needs a counter that
// processors share.

// serverCounts are the counts of some of the server's connections. They have a cache line of their own.
type serverCounts struct {
	requests, refused, read, written atomic.Int64

	_ [32]byte
}

// countShards is how many serverCounts a server has. Connections are spread over them.
const countShards = 16

// countLag is how many bytes are counted at most before the server's counts have them.
const countLag = 64 << 10

func (c *connection) counts() *serverCounts { return &c.srv.counts[c.id%countShards] }

// publish adds what c has counted to the counts of the server. Nobody else may use the input and the output.
func (c *connection) publish() {
	if c.counted|c.input.counted|c.output.counted != 0 {
		n := c.counts()
		n.requests.Add(c.counted)
		c.counted = 0
		c.input.publish(n)
		c.output.publish(n)
	}
}

func (in *input) publish(n *serverCounts) {
	n.read.Add(in.counted)
	in.counted = 0
}

func (o *output) publish(n *serverCounts) {
	n.written.Add(o.counted)
	o.counted = 0
}

// count counts bytes that were read.
func (in *input) count(n int) {
	if in.counted += int64(n); in.counted >= countLag {
		in.publish(in.c.counts())
	}
}

// count counts bytes that were written.
func (o *output) count(n int64) {
	if o.counted += n; o.counted >= countLag {
		o.publish(o.c.counts())
	}
}

// countPause is how many connections are looked at before others may have the lock of the table.
const countPause = 256

// countStates counts the connections, by what they do.
func (t *connTable) countStates(stats *ServerStats) {
	t.mu.Lock()
	defer t.mu.Unlock()
	stats.Accepted = t.accepted
	if t.conns.next == nil {
		return // the server has not begun
	}
	looked := 0
	for c := t.conns.next; c != &t.conns; c = c.next {
		if c.nc == nil {
			continue // a bookmark
		}
		stats.Connections++
		switch c.state.Load() {
		case phaseIdle, phaseLast:
			stats.Idle++
		case phaseShaking:
			stats.Handshaking++
		default:
			stats.Active++
		}
		if looked++; looked%countPause == 0 {
			c = t.pauseBehind(c)
		}
	}
}

// pauseBehind lets others have the lock. It returns the entry behind which to go on: c, or the last one left before it.
func (t *connTable) pauseBehind(c *tableEntry) *tableEntry {
	mark := &tableEntry{prev: c, next: c.next}
	mark.prev.next, mark.next.prev = mark, mark
	t.mu.Unlock()
	runtime.Gosched()
	t.mu.Lock()
	mark.prev.next, mark.next.prev = mark.next, mark.prev
	return mark.prev
}
