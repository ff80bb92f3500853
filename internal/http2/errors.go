package http2

// Error says why a connection or a stream fails. All Errors are the variables below, so they can be compared with ==, need no
// allocation and contain no bytes of the peer.
type Error struct {
	Code   Code
	Conn   bool // the connection fails, not only a stream
	Reason string
}

func (e *Error) Error() string { return "http2: " + e.Reason }

func connError(c Code, reason string) *Error   { return &Error{c, true, reason} }
func streamError(c Code, reason string) *Error { return &Error{c, false, reason} }
func malformed(reason string) *Error           { return &Error{ProtocolError, false, reason} }

// Errors of frames that fail the connection.
var (
	ErrPreface          = connError(ProtocolError, "connection does not begin with the preface (RFC 9113 §3.4)")
	ErrNoSettings       = connError(ProtocolError, "first frame is not SETTINGS (RFC 9113 §3.4)")
	ErrFrameTooLarge    = connError(FrameSizeError, "frame exceeds SETTINGS_MAX_FRAME_SIZE (RFC 9113 §4.2)")
	ErrFrameLength      = connError(FrameSizeError, "frame has a wrong length for its type (RFC 9113 §6)")
	ErrFrameStream      = connError(ProtocolError, "frame of this type is on stream 0, or must be (RFC 9113 §6)")
	ErrPadding          = connError(ProtocolError, "padding is as long as the payload or longer (RFC 9113 §6.1)")
	ErrBlockInterrupted = connError(ProtocolError, "header block is interrupted by another frame (RFC 9113 §6.10)")
	ErrNoBlock          = connError(ProtocolError, "CONTINUATION without an open header block (RFC 9113 §6.10)")
	ErrCompression      = connError(CompressionError, "header block cannot be decoded (RFC 9113 §4.3)")
	ErrStreamID         = connError(ProtocolError, "stream identifier has the wrong parity or is not new (RFC 9113 §5.1.1)")
	ErrIdleStream       = connError(ProtocolError, "frame on an idle stream (RFC 9113 §5.1)")
	ErrHalfClosed       = connError(StreamClosed, "DATA or HEADERS after END_STREAM (RFC 9113 §5.1)")
	ErrClosed           = connError(StreamClosed, "DATA or HEADERS on a stream that was closed by END_STREAM (RFC 9113 §5.1)")
	ErrPush             = connError(ProtocolError, "PUSH_PROMISE is not permitted (RFC 9113 §6.6)")
	ErrGoAwayRaised     = connError(ProtocolError, "GOAWAY raises the last stream identifier (RFC 9113 §6.8)")
	ErrConnWindow       = connError(FlowControlError, "DATA exceeds the window of the connection (RFC 9113 §6.9)")
	ErrConnOverflow     = connError(FlowControlError, "WINDOW_UPDATE makes the window of the connection larger than 2^31-1 (RFC 9113 §6.9.1)")
	ErrConnIncrement    = connError(ProtocolError, "WINDOW_UPDATE of 0 for the connection (RFC 9113 §6.9)")
	ErrPriorityUpdate   = connError(ProtocolError, "PRIORITY_UPDATE for stream 0, or from a server (RFC 9218 §7.1)")
)

// ErrInadequateSecurity is for callers that find the TLS connection too weak, see [Conn.Fail].
var ErrInadequateSecurity = connError(InadequateSecurity, "TLS below 1.2, or with a cipher suite that HTTP/2 prohibits (RFC 9113 §9.2)")

// Errors of settings.
var (
	ErrEnablePush      = connError(ProtocolError, "SETTINGS_ENABLE_PUSH is not 0 or 1, or a server sent 1 (RFC 9113 §6.5.2)")
	ErrInitialWindow   = connError(FlowControlError, "SETTINGS_INITIAL_WINDOW_SIZE is larger than 2^31-1 (RFC 9113 §6.5.2)")
	ErrInitialOverflow = connError(FlowControlError, "SETTINGS_INITIAL_WINDOW_SIZE makes the window of a stream larger than 2^31-1 (RFC 9113 §6.9.2)")
	ErrMaxFrameSize    = connError(ProtocolError, "SETTINGS_MAX_FRAME_SIZE is not between 2^14 and 2^24-1 (RFC 9113 §6.5.2)")
	ErrEnableConnect   = connError(ProtocolError, "SETTINGS_ENABLE_CONNECT_PROTOCOL is not 0 or 1, or goes back to 0 (RFC 8441 §3)")
	ErrNoPriorities    = connError(ProtocolError, "SETTINGS_NO_RFC7540_PRIORITIES is not 0 or 1, or changes (RFC 9218 §2.1)")
	ErrSettingsTimeout = connError(SettingsTimeout, "the peer does not acknowledge SETTINGS (RFC 9113 §6.5.3)")
)

// Errors that fail a stream. See [Conn] for when they fail the connection instead.
var (
	ErrPriorityLength  = streamError(FrameSizeError, "PRIORITY has not 5 bytes (RFC 9113 §6.3)")
	ErrSelfDependency  = streamError(ProtocolError, "stream depends on itself (RFC 7540 §5.3.1)")
	ErrStreamWindow    = streamError(FlowControlError, "DATA exceeds the window of the stream (RFC 9113 §6.9)")
	ErrStreamOverflow  = streamError(FlowControlError, "WINDOW_UPDATE makes the window of a stream larger than 2^31-1 (RFC 9113 §6.9.1)")
	ErrStreamIncrement = streamError(ProtocolError, "WINDOW_UPDATE of 0 for a stream (RFC 9113 §6.9)")
	ErrReset           = streamError(StreamClosed, "frame on a stream that the peer has reset (RFC 9113 §5.1)")
	ErrRefused         = streamError(RefusedStream, "too many concurrent streams (RFC 9113 §5.1.2)")
)

// Errors of malformed messages (RFC 9113 §8.1.1).
var (
	ErrName            = malformed("field name is not a lower-case token (RFC 9113 §8.2.1)")
	ErrValue           = malformed("field value has a control character, or a blank at one end (RFC 9113 §8.2.1)")
	ErrConnectionField = malformed("connection-specific field (RFC 9113 §8.2.2)")
	ErrTE              = malformed("TE is not \"trailers\" (RFC 9113 §8.2.2)")
	ErrPseudoLate      = malformed("pseudo-field after a regular field (RFC 9113 §8.3)")
	ErrPseudoUnknown   = malformed("unknown pseudo-field, or one that does not belong here (RFC 9113 §8.3)")
	ErrPseudoTwice     = malformed("repeated pseudo-field (RFC 9113 §8.3)")
	ErrPseudoMissing   = malformed("request without :method, :scheme or :path (RFC 9113 §8.3.1)")
	ErrMethod          = malformed("method is not a token (RFC 9110 §9.1)")
	ErrScheme          = malformed("scheme is not http or https (RFC 9113 §8.3.1)")
	ErrPath            = malformed("path does not begin with a slash (RFC 9113 §8.3.1)")
	ErrNoAuthority     = malformed("neither :authority nor Host (RFC 9113 §8.3.1)")
	ErrTwoHosts        = malformed("more than one Host (RFC 9112 §3.2)")
	ErrHostDiffers     = malformed("Host differs from :authority (RFC 9113 §8.3.1)")
	ErrConnect         = malformed("CONNECT without :authority, or with :scheme or :path (RFC 9113 §8.5)")
	ErrConnectProtocol = malformed(":protocol without CONNECT, or not permitted (RFC 8441 §4)")
	ErrContentLength   = malformed("Content-Length is not one number (RFC 9110 §8.6)")
	ErrContentMismatch = malformed("DATA does not add up to Content-Length (RFC 9113 §8.1.1)")
	ErrTrailersNotLast = malformed("second header block without END_STREAM (RFC 9113 §8.1)")
	ErrStatus          = malformed("response without :status of three digits (RFC 9113 §8.3.2)")
	ErrSwitchProtocols = malformed("status 101 (RFC 9113 §8.6)")
	ErrInterimEnd      = malformed("interim response with END_STREAM (RFC 9113 §8.1)")
	ErrTooManyInterims = malformed("too many interim responses (RFC 9110 §15.2)")
	ErrDataBeforeHead  = malformed("DATA before the head (RFC 9113 §8.1)")
)

// Errors of peers that exceed a limit of abuse.go. Each fails the connection with ENHANCE_YOUR_CALM.
var (
	ErrEarlyResets     = connError(EnhanceYourCalm, "too many streams ended early or were refused")
	ErrControlFlood    = connError(EnhanceYourCalm, "too many control frames")
	ErrEmptyData       = connError(EnhanceYourCalm, "too many empty DATA frames")
	ErrTinyData        = connError(EnhanceYourCalm, "too many tiny DATA frames")
	ErrTinyWindows     = connError(EnhanceYourCalm, "windows are opened by too few bytes at a time")
	ErrContinuations   = connError(EnhanceYourCalm, "header block has too many frames")
	ErrBlockTooLarge   = connError(EnhanceYourCalm, "header block is too large")
	ErrListFarTooLarge = connError(EnhanceYourCalm, "header list exceeds several times the limit")
)
