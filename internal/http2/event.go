package http2

// Kind is the kind of an Event.
type Kind uint8

const (
	// More means that Next needs more bytes. Event.Need has the number of bytes that must be there at least.
	More Kind = iota

	// Pause means that Next has taken many frames that are no events. Only if Config.Pauses is set.
	Pause

	// Full means that too much output is unsent. Call Next again when Out is empty.
	Full

	// Head means that the head of a request or of a final response is complete. Event.End means that there is no body.
	// Event.Excess is a limit that the head exceeds: its fields are incomplete, and a server responds with 431.
	Head

	// Interim means that an interim response (1xx) is complete. Client only.
	Interim

	// Data has bytes of a body. They are valid until the caller changes its buffer. Event.End means that the body ends here.
	// The caller must pass the number of bytes to Consumed at some time, unless the stream ends before.
	Data

	// Trailers means that trailers are complete, and that the message ends. Event.Excess means that there were too many.
	Trailers

	// Reset means that the stream was reset: by the peer, or by this side because of an error of the peer. In the second
	// case, Event.Err says why. The caller has had a Head event for the stream, or has opened it, and must call Release.
	Reset

	// Rejected means that this side has reset a stream that the caller knows nothing about. Event.Err says why.
	Rejected

	// Writable means that a stream that waited may send. Call NextWriter.
	Writable

	// SettingsChanged means that SETTINGS of the peer arrived and were applied. See Conn.Peer.
	SettingsChanged

	// SettingsAcked means that the peer has acknowledged the oldest unacknowledged SETTINGS of this side.
	SettingsAcked

	// Pong means that the peer has responded to the Ping with Event.Ping.
	Pong

	// GoingAway means that the peer has sent GOAWAY with Event.Code, and accepts no stream above Event.Stream. Client: all
	// own streams above it are closed and can be repeated elsewhere. The caller must call Release for each.
	GoingAway

	// Failed means that the connection has failed because of Event.Err. GOAWAY is in the output. The caller writes what it
	// can, and closes the connection. Next returns only this from now on.
	Failed
)

// Event is something that the bytes of the peer mean to the caller. Which fields are set depends on Kind.
type Event struct {
	Kind   Kind
	End    bool
	Slot   int    // of the stream; see Conn
	Stream uint32 // identifier of the stream
	Code   Code   // Reset, GoingAway
	Need   int    // More
	Work   int    // about how long Next took, in the time that a byte of a header takes; see frameWork
	Data   []byte // Data; GoingAway: debug data
	Ping   uint64
	Err    *Error
	Excess error
}
