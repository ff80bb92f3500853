package http2

import "strings"

// Error says why a connection or a stream fails. All Errors are the variables below, so they can be compared with ==, need no
// allocation and contain no bytes of the peer.
type Error struct {
	Code   Code
	Conn   bool   // the connection fails, not only a stream
	Name   string // of the variable, without Err and in snake case
	Reason string
}

func (e *Error) Error() string { return "http2: " + e.Reason }

// Type returns what metrics count the error as: whether it is an error of the connection or of a stream, the code, and the name.
// It consists of lowercase letters, digits and underscores.
func (e *Error) Type() string {
	of := "stream_"
	if e.Conn {
		of = "conn_"
	}
	return of + strings.ToLower(e.Code.String()) + "_" + e.Name
}

func connError(c Code, name, reason string) *Error   { return &Error{c, true, name, reason} }
func streamError(c Code, name, reason string) *Error { return &Error{c, false, name, reason} }
func malformed(name, reason string) *Error           { return &Error{ProtocolError, false, name, reason} }

// Errors of frames that fail the connection.
var (
	ErrPreface          = connError(ProtocolError, "preface", "connection does not begin with the preface (RFC 9113 §3.4)")
	ErrNoSettings       = connError(ProtocolError, "no_settings", "first frame is not SETTINGS (RFC 9113 §3.4)")
	ErrFrameTooLarge    = connError(FrameSizeError, "frame_too_large", "frame exceeds SETTINGS_MAX_FRAME_SIZE (RFC 9113 §4.2)")
	ErrFrameLength      = connError(FrameSizeError, "frame_length", "frame has a wrong length for its type (RFC 9113 §6)")
	ErrFrameStream      = connError(ProtocolError, "frame_stream", "frame of this type is on stream 0, or must be (RFC 9113 §6)")
	ErrPadding          = connError(ProtocolError, "padding", "padding is as long as the payload or longer (RFC 9113 §6.1)")
	ErrBlockInterrupted = connError(ProtocolError, "block_interrupted", "header block is interrupted by another frame (RFC 9113 §6.10)")
	ErrNoBlock          = connError(ProtocolError, "no_block", "CONTINUATION without an open header block (RFC 9113 §6.10)")
	ErrCompression      = connError(CompressionError, "compression", "header block cannot be decoded (RFC 9113 §4.3)")
	ErrStreamID         = connError(ProtocolError, "stream_id", "stream identifier has the wrong parity or is not new (RFC 9113 §5.1.1)")
	ErrIdleStream       = connError(ProtocolError, "idle_stream", "frame on an idle stream (RFC 9113 §5.1)")
	ErrHalfClosed       = connError(StreamClosed, "half_closed", "DATA or HEADERS after END_STREAM (RFC 9113 §5.1)")
	ErrClosed           = connError(StreamClosed, "closed", "DATA or HEADERS on a stream that was closed by END_STREAM (RFC 9113 §5.1)")
	ErrPush             = connError(ProtocolError, "push", "PUSH_PROMISE is not permitted (RFC 9113 §6.6)")
	ErrGoAwayRaised     = connError(ProtocolError, "go_away_raised", "GOAWAY raises the last stream identifier (RFC 9113 §6.8)")
	ErrConnWindow       = connError(FlowControlError, "conn_window", "DATA exceeds the window of the connection (RFC 9113 §6.9)")
	ErrConnOverflow     = connError(FlowControlError, "conn_overflow", "WINDOW_UPDATE makes the window of the connection larger than 2^31-1 (RFC 9113 §6.9.1)")
	ErrConnIncrement    = connError(ProtocolError, "conn_increment", "WINDOW_UPDATE of 0 for the connection (RFC 9113 §6.9)")
	ErrPriorityUpdate   = connError(ProtocolError, "priority_update", "PRIORITY_UPDATE for a stream that no client opens, or from a server (RFC 9218 §7.1)")
	ErrEarlyPriorities  = connError(ProtocolError, "early_priorities", "PRIORITY_UPDATE for too many streams that are not open (RFC 9218 §7.1)")
)

// ErrInadequateSecurity is for callers that find the TLS connection too weak, see [Conn.Fail].
var ErrInadequateSecurity = connError(InadequateSecurity, "inadequate_security", "TLS below 1.2, or with a cipher suite that HTTP/2 prohibits (RFC 9113 §9.2)")

// Errors of settings.
var (
	ErrEnablePush      = connError(ProtocolError, "enable_push", "SETTINGS_ENABLE_PUSH is not 0 or 1, or a server sent 1 (RFC 9113 §6.5.2)")
	ErrInitialWindow   = connError(FlowControlError, "initial_window", "SETTINGS_INITIAL_WINDOW_SIZE is larger than 2^31-1 (RFC 9113 §6.5.2)")
	ErrInitialOverflow = connError(FlowControlError, "initial_overflow", "SETTINGS_INITIAL_WINDOW_SIZE makes the window of a stream larger than 2^31-1 (RFC 9113 §6.9.2)")
	ErrMaxFrameSize    = connError(ProtocolError, "max_frame_size", "SETTINGS_MAX_FRAME_SIZE is not between 2^14 and 2^24-1 (RFC 9113 §6.5.2)")
	ErrEnableConnect   = connError(ProtocolError, "enable_connect", "SETTINGS_ENABLE_CONNECT_PROTOCOL is not 0 or 1, or goes back to 0 (RFC 8441 §3)")
	ErrNoPriorities    = connError(ProtocolError, "no_priorities", "SETTINGS_NO_RFC7540_PRIORITIES is not 0 or 1, or changes (RFC 9218 §2.1)")
	ErrSettingsTimeout = connError(SettingsTimeout, "settings_timeout", "the peer does not acknowledge SETTINGS (RFC 9113 §6.5.3)")
)

// Errors that fail a stream. See [Conn] for when they fail the connection instead.
var (
	ErrPriorityLength  = streamError(FrameSizeError, "priority_length", "PRIORITY has not 5 bytes (RFC 9113 §6.3)")
	ErrSelfDependency  = streamError(ProtocolError, "self_dependency", "stream depends on itself (RFC 7540 §5.3.1)")
	ErrStreamWindow    = streamError(FlowControlError, "stream_window", "DATA exceeds the window of the stream (RFC 9113 §6.9)")
	ErrStreamOverflow  = streamError(FlowControlError, "stream_overflow", "WINDOW_UPDATE makes the window of a stream larger than 2^31-1 (RFC 9113 §6.9.1)")
	ErrStreamIncrement = streamError(ProtocolError, "stream_increment", "WINDOW_UPDATE of 0 for a stream (RFC 9113 §6.9)")
	ErrReset           = streamError(StreamClosed, "reset", "frame on a stream that the peer has reset (RFC 9113 §5.1)")
	ErrRefused         = streamError(RefusedStream, "refused", "too many concurrent streams (RFC 9113 §5.1.2)")
)

// Errors of malformed messages (RFC 9113 §8.1.1).
var (
	ErrName            = malformed("name", "field name is not a lower-case token (RFC 9113 §8.2.1)")
	ErrValue           = malformed("value", "field value has a control character, or a blank at one end (RFC 9113 §8.2.1)")
	ErrConnectionField = malformed("connection_field", "connection-specific field (RFC 9113 §8.2.2)")
	ErrTE              = malformed("te", "TE is not \"trailers\" (RFC 9113 §8.2.2)")
	ErrPseudoLate      = malformed("pseudo_late", "pseudo-field after a regular field (RFC 9113 §8.3)")
	ErrPseudoUnknown   = malformed("pseudo_unknown", "unknown pseudo-field, or one that does not belong here (RFC 9113 §8.3)")
	ErrPseudoTwice     = malformed("pseudo_twice", "repeated pseudo-field (RFC 9113 §8.3)")
	ErrPseudoMissing   = malformed("pseudo_missing", "request without :method, :scheme or :path (RFC 9113 §8.3.1)")
	ErrMethod          = malformed("method", "method is not a token (RFC 9110 §9.1)")
	ErrScheme          = malformed("scheme", "scheme is not http or https (RFC 9113 §8.3.1)")
	ErrPath            = malformed("path", "path does not begin with a slash (RFC 9113 §8.3.1)")
	ErrNoAuthority     = malformed("no_authority", "neither :authority nor Host (RFC 9113 §8.3.1)")
	ErrTwoHosts        = malformed("two_hosts", "more than one Host (RFC 9112 §3.2)")
	ErrHostDiffers     = malformed("host_differs", "Host differs from :authority (RFC 9113 §8.3.1)")
	ErrConnect         = malformed("connect", "CONNECT without :authority, or with :scheme or :path (RFC 9113 §8.5)")
	ErrConnectProtocol = malformed("connect_protocol", ":protocol without CONNECT, or not permitted (RFC 8441 §4)")
	ErrContentLength   = malformed("content_length", "Content-Length is not one number (RFC 9110 §8.6)")
	ErrContentMismatch = malformed("content_mismatch", "DATA does not add up to Content-Length (RFC 9113 §8.1.1)")
	ErrTrailersNotLast = malformed("trailers_not_last", "second header block without END_STREAM (RFC 9113 §8.1)")
	ErrStatus          = malformed("status", "response without :status of three digits (RFC 9113 §8.3.2)")
	ErrSwitchProtocols = malformed("switch_protocols", "status 101 (RFC 9113 §8.6)")
	ErrInterimEnd      = malformed("interim_end", "interim response with END_STREAM (RFC 9113 §8.1)")
	ErrTooManyInterims = malformed("too_many_interims", "too many interim responses (RFC 9110 §15.2)")
	ErrDataBeforeHead  = malformed("data_before_head", "DATA before the head (RFC 9113 §8.1)")
)

// Errors of peers that exceed a limit of abuse.go. Each fails the connection with ENHANCE_YOUR_CALM.
var (
	ErrEarlyResets     = connError(EnhanceYourCalm, "early_resets", "too many streams ended early or were refused")
	ErrControlFlood    = connError(EnhanceYourCalm, "control_flood", "too many control frames")
	ErrEmptyData       = connError(EnhanceYourCalm, "empty_data", "too many empty DATA frames")
	ErrTinyData        = connError(EnhanceYourCalm, "tiny_data", "too many tiny DATA frames")
	ErrTinyWindows     = connError(EnhanceYourCalm, "tiny_windows", "windows are opened by too few bytes at a time")
	ErrContinuations   = connError(EnhanceYourCalm, "continuations", "header block has too many frames")
	ErrBlockTooLarge   = connError(EnhanceYourCalm, "block_too_large", "header block is too large")
	ErrListFarTooLarge = connError(EnhanceYourCalm, "list_far_too_large", "header list exceeds several times the limit")
)
