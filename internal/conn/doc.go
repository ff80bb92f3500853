// Package conn serves the connections of a server, and knows no protocol. It accepts connections, reads and writes with
// deadlines, does TLS handshakes, waits, counts and logs, and ends connections when the server shuts down. A wire, which is
// the protocol on a connection, embeds a [Conn] and calls its methods. Two rare events are calls in the other direction, see
// [Wire].
//
//	Server    what the connections of one server have in common: settings, hooks, the table, listeners, loops
//	Table     all connections and listeners, their states, and how all of them end
//	Entry     a connection in the table, and its phase: state.go has a picture of all phases
//	Conn      a connection while a goroutine serves it, with its Input and Output
//	LoopConn  a connection of an event loop while nothing serves it: as small as possible
//	Seat      where a Conn sits while it serves a LoopConn
//
// A goroutine serves a connection in steps, and each step ends with a [Next]. On a loop, the wire attaches its Conn to a
// LoopConn, takes steps, and then parks the connection, moves it to another goroutine, or ends it:
//
//	          Attach                step                    Park, ParkLater
//	event ───────────▶ attached ───────────▶ Step … Ended ──────────────────▶ parked on its loop
//	                      ▲                       │ Move
//	                      └── another goroutine ◀─┘
//
// The wire gets its connections as turns: a turn begins with the first byte of something to serve, such as a request, and
// ends when the wire waits for the next one. A wire that serves several things at once is in a turn while there is any. In a
// turn, it waits with [Conn.WaitMore] for more.
package conn
