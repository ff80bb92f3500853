package gallop

// ServerStats counts the connections and requests of a Server, for metrics and dashboards. See [Server.Stats].
//
// The fields Connections, Active, Idle, Handshaking and Running are current values. All other fields are counters that start at
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

	// Running is the number of requests whose handler is running or whose response is being written. An HTTP/2 connection can
	// have several running requests, and one of its requests counts as soon as its handler may be called. Running does not
	// include requests that are still arriving, hijacked connections, and handlers that have timed out.
	Running uint64

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

	// Moved counts the handler calls that blocked an event loop for more than about 1 ms. Another goroutine then takes over the
	// loop, and the handler goes on without holding up other connections. If Moved grows steadily, some handlers are sometimes
	// fast and sometimes slow. If the server uses no event loops, Moved is 0. Loop.Overtaken has the same value.
	Moved uint64

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

	// Overtaken is the same as ServerStats.Moved.
	Overtaken uint64

	// FastPlaces and UsedPlaces describe the table in which loops record how long handlers ran. For each combination of
	// method and path, the table has an entry. Several combinations can share one entry. UsedPlaces is the number of
	// entries in use. FastPlaces is the number of entries whose handlers are called on the loop.
	FastPlaces, UsedPlaces int
}

// Stats returns counters of connections and requests. Any goroutine may call Stats at any time. Stats looks at every
// connection, so call Stats every few seconds rather than for every request.
func (s *Server) Stats() ServerStats {
	table := &s.conns.Table
	stats := ServerStats{
		RejectedConcurrency: table.RejectedFull.Load(),
		RejectedPerIP:       table.RejectedPerIP.Load(),
	}
	stats.RefusedConcurrency = s.busy.Load()
	stats.Refused = stats.RefusedConcurrency
	stats.Rejected = stats.RejectedConcurrency + stats.RejectedPerIP
	for i := range s.conns.Counts {
		n := &s.conns.Counts[i]
		stats.Requests += uint64(n.Turns.Load())
		stats.Refused += uint64(n.Refused.Load())
		stats.BytesRead += uint64(n.Read.Load())
		stats.BytesWritten += uint64(n.Written.Load())
	}
	n := table.CountStates()
	stats.Accepted, stats.Connections = n.Accepted, n.Open
	stats.Active, stats.Idle, stats.Handshaking = n.Active, n.Idle, n.Shaking
	stats.Running = n.Running + uint64(max(s.h2.handlers.Taken(), 0))
	s.h2.correct(&stats)
	loops := s.conns.LoopCounts()
	stats.Moved = loops.Overtaken
	stats.Loop = LoopStats{
		Inline: loops.OnLoop, Pooled: loops.OffLoop, Overtaken: loops.Overtaken,
		FastPlaces: loops.Fast, UsedPlaces: loops.Used,
	}
	return stats
}

// GetCurrentConcurrency returns the number of open connections.
//
// Deprecated: use the Connections field of Stats.
func (s *Server) GetCurrentConcurrency() uint32 { return uint32(max(s.conns.Table.Open.Load(), 0)) }

// GetOpenConnectionsCount returns the number of open connections.
//
// Deprecated: use the Connections field of Stats.
func (s *Server) GetOpenConnectionsCount() int32 { return s.conns.Table.Open.Load() }

// GetRejectedConnectionsCount returns the number of connections that were rejected because of Concurrency or
// MaxConnsPerIP.
//
// Deprecated: use the Rejected field of Stats.
func (s *Server) GetRejectedConnectionsCount() uint32 {
	return uint32(s.conns.Table.RejectedFull.Load() + s.conns.Table.RejectedPerIP.Load())
}

// Requests and bytes are counted in the serverConn, in its input and in its output, each by the goroutine that may use that part. The counts
// are added to those of the server when the connection waits, and on event loops when the loop does. So no request needs a counter that
// processors share.

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
