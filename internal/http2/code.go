package http2

// Code is an error code of RST_STREAM and GOAWAY (RFC 9113 §7). Unknown codes are valid and mean InternalError.
type Code uint32

// The registered codes.
const (
	NoError Code = iota
	ProtocolError
	InternalError
	FlowControlError
	SettingsTimeout
	StreamClosed
	FrameSizeError
	RefusedStream
	Cancel
	CompressionError
	ConnectError
	EnhanceYourCalm
	InadequateSecurity
	HTTP11Required
)

var codeNames = [...]string{
	NoError: "NO_ERROR", ProtocolError: "PROTOCOL_ERROR", InternalError: "INTERNAL_ERROR",
	FlowControlError: "FLOW_CONTROL_ERROR", SettingsTimeout: "SETTINGS_TIMEOUT", StreamClosed: "STREAM_CLOSED",
	FrameSizeError: "FRAME_SIZE_ERROR", RefusedStream: "REFUSED_STREAM", Cancel: "CANCEL",
	CompressionError: "COMPRESSION_ERROR", ConnectError: "CONNECT_ERROR", EnhanceYourCalm: "ENHANCE_YOUR_CALM",
	InadequateSecurity: "INADEQUATE_SECURITY", HTTP11Required: "HTTP_1_1_REQUIRED",
}

// String returns the registered name, or "unknown code".
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "unknown code"
}
