package gallop

// EngineType selects whether connections are served by event loops or by goroutines. See [Server.Engine].
type EngineType int

const (
	// EngineAuto uses EngineLoop where it is available, and EngineGoroutine elsewhere.
	EngineAuto EngineType = iota

	// EngineLoop serves connections on event loops, one for each processor. A connection that waits for a request
	// needs only its socket and a few hundred bytes of memory. Event loops are available on Linux for TCP and unix
	// sockets. All other connections are served by goroutines.
	EngineLoop

	// EngineGoroutine serves each connection on its own goroutine.
	EngineGoroutine
)

// DispatchType selects where an event loop calls handlers. See [Server.Dispatch]. Handlers may block in either place.
// The choice affects only speed.
type DispatchType int

const (
	// DispatchAuto calls a handler on the loop if earlier calls for the same method and path were short, and on a
	// goroutine otherwise. If a handler on the loop does not return within two milliseconds, the loop stops waiting
	// for it. Until then, the loop's other connections wait.
	DispatchAuto DispatchType = iota

	// DispatchInline always calls the handler on the loop.
	DispatchInline

	// DispatchGoroutine always calls the handler on a goroutine.
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
