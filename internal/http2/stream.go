package http2

// state is the state of a stream (RFC 9113 §5.1). Streams that are idle, and closed streams that were released, are not in
// the table. There are no reserved streams, because this package neither sends nor permits PUSH_PROMISE.
//
//	           first HEADERS, sent or received
//	idle ────────────────────────────────────────▶ open
//	                                               │  │
//	                     END_STREAM received       │  │       END_STREAM sent
//	              ┌────────────────────────────────┘  └──────────────────────────────┐
//	              ▼                                                                  ▼
//	         halfRemote                                                          halfLocal
//	              │ END_STREAM sent                           END_STREAM received    │
//	              └────────────────────────────────▶ closed ◀────────────────────────┘
//
//	From each of open, halfRemote and halfLocal, RST_STREAM leads to closed, whoever sends it.
type state uint8

const (
	open       state = iota + 1
	halfRemote       // the peer sends no more DATA and HEADERS
	halfLocal        // this side sends no more DATA and HEADERS
	closed
)

// afterRecvEnd returns the state after END_STREAM was received.
func (s state) afterRecvEnd() state {
	if s == open {
		return halfRemote
	}
	return closed
}

// afterSendEnd returns the state after END_STREAM was sent.
func (s state) afterSendEnd() state {
	if s == open {
		return halfLocal
	}
	return closed
}

// mayReceive reports whether the peer may send DATA and HEADERS.
func (s state) mayReceive() bool { return s == open || s == halfLocal }

// maySend reports whether this side may send DATA and HEADERS.
func (s state) maySend() bool { return s == open || s == halfRemote }

// resetBy says who has reset a stream.
type resetBy uint8

const (
	notReset resetBy = iota
	resetByUs
	resetByPeer
)

// noLength is the value of stream.length without a Content-Length.
const noLength = -1

// stream is a stream that is open, or closed and not released yet.
type stream struct {
	id    uint32
	send  sendWindow
	recv  recvWindow
	state state
	reset resetBy

	gotHead    bool // the head was received; for a response the final one
	sentHead   bool // the head was sent; for a response the final one
	isBodiless bool // the response to this stream has no body, regardless of its fields (client)
	isConnect  bool // the request is a CONNECT (client)
	interims   uint8

	length   int64 // of the body that is still to arrive, or noLength
	progress progress

	waiting  waiting
	priority Priority
	explicit bool   // the peer has set the priority
	turns    uint8  // turns in a row, see scheduler
	next     uint16 // in a list of the scheduler or of free slots: slot of the next stream, plus 1
}

// waiting says what a stream that has more to send waits for.
type waiting uint8

const (
	forCaller waiting = iota // it has nothing to send
	forWindow                // its own window
	forTurn                  // it is in the scheduler
)
