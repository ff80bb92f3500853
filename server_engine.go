package gallop

// EngineType selects whether connections are served by event loops or by goroutines. See [Server.Engine].
type EngineType int

const (
	// EngineAuto serves a connection on an event loop if event loops support the connection. EngineAuto serves all
	// other connections on goroutines, one for each connection.
	EngineAuto EngineType = iota

	// EngineLoop serves connections on event loops. There is one event loop for each processor. An idle connection
	// needs only its socket and a few hundred bytes of memory. Event loops are available on Linux for TCP and unix
	// sockets. EngineLoop serves every other connection on its own goroutine.
	EngineLoop

	// EngineGoroutine serves each connection on its own goroutine.
	EngineGoroutine
)

// DispatchType selects where an event loop calls handlers. See [Server.Dispatch]. With every DispatchType, handlers may
// block. The DispatchType affects only speed.
type DispatchType int

const (
	// DispatchAuto chooses between the loop and a separate goroutine. If earlier calls for the same method and path
	// were short, the handler is called on the loop. All other handler calls run on a separate goroutine. While a
	// handler runs on the loop, the loop's other connections wait. If the handler runs longer than two milliseconds,
	// the loop serves its other connections while the handler is still running.
	DispatchAuto DispatchType = iota

	// DispatchInline always calls the handler on the loop.
	DispatchInline

	// DispatchGoroutine always calls the handler on a separate goroutine.
	DispatchGoroutine
)

// errPark, errLater and errMove are how serving a connection of a loop stops for now:
// there is nothing to read, and the connection goes back to its loop; or the loop has to
// send what is in the output first; or the handler is to be called on a goroutine.
const (
	errPark pause = iota
	errLater
	errMove
)

// pause is an error so that it can be returned as one. It is compared more quickly.
type pause uint8

func (pause) Error() string { return "gallop: the connection is not served for now" }
