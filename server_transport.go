package gallop

// TransportType is how connections are served, see Server.Transport.
type TransportType int

const (
	// TransportAuto is TransportLoop where that is possible.
	TransportAuto TransportType = iota

	// TransportLoop serves connections on event loops, one for each processor. A
	// connection that waits for a request costs its socket and a few hundred bytes.
	// Where that is not possible connections are served by goroutines.
	TransportLoop

	// TransportGoroutine serves each connection on a goroutine.
	TransportGoroutine
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

// ServerStats are counts of what event loops have done since the server began, see
// Server.Stats. They are read one after the other while loops run on, and need not add up.
type ServerStats struct {
	Inline    uint64 // handlers called on a loop
	Pooled    uint64 // handlers called on goroutines, the loop having gone on
	Overtaken uint64 // handlers on a loop that took so long that it went on without them

	// How many of the table's places, which methods and paths share, call their handlers
	// on the loop, and of how many it is known that handlers were quick, or were taken to be.
	FastPlaces, UsedPlaces int
}

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
