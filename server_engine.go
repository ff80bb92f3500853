package gallop

// EngineType says what serves connections: event loops or goroutines. See Server.Engine.
type EngineType int

const (
	// EngineAuto uses EngineLoop where it is available, and EngineGoroutine elsewhere.
	EngineAuto EngineType = iota

	// EngineLoop serves connections on event loops, one for each processor. A connection that waits for a request costs its
	// socket and a few hundred bytes. Event loops are available on Linux for TCP and unix sockets. Goroutines serve connections
	// for which they are not available.
	EngineLoop

	// EngineGoroutine serves each connection on a goroutine of its own.
	EngineGoroutine
)

// DispatchType is where an event loop calls handlers, see Server.Dispatch. A handler may
// do anything in either place; it is a question of speed alone.
type DispatchType int

const (
	// DispatchAuto calls a handler on the loop if its runs for the same method and path
	// have been short, and on a goroutine otherwise. One that does not return is noticed
	// within two milliseconds, in which other connections of the loop wait.
	DispatchAuto DispatchType = iota

	// DispatchInline always calls it on the loop.
	DispatchInline

	// DispatchGoroutine always calls it on a goroutine.
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
