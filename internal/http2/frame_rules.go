package http2

// Which stream a type of frame belongs to.
type streamRule uint8

const (
	anyStream streamRule = iota
	onStream             // not stream 0
	onConn               // stream 0
)

// frameRule says which stream and which lengths a type of frame may have. min and max exclude the fields that flags add.
type frameRule struct {
	stream   streamRule
	min, max uint32
	padded   bool // the flag PADDED adds a byte
	isKnown  bool
}

const anyLength = 1<<24 - 1

var frameRules = [typePriorityUpdate + 1]frameRule{
	typeData:           {onStream, 0, anyLength, true, true},
	typeHeaders:        {onStream, 0, anyLength, true, true},
	typePriority:       {onStream, 5, 5, false, true},
	typeRSTStream:      {onStream, 4, 4, false, true},
	typeSettings:       {onConn, 0, anyLength, false, true},
	typePushPromise:    {onStream, 4, anyLength, true, true},
	typePing:           {onConn, 8, 8, false, true},
	typeGoAway:         {onConn, 8, anyLength, false, true},
	typeWindowUpdate:   {anyStream, 4, 4, false, true},
	typeContinuation:   {onStream, 0, anyLength, false, true},
	typePriorityUpdate: {onConn, 4, anyLength, false, true},
}

// isKnown reports whether this package knows the type. Frames of other types are ignored (RFC 9113 §5.5).
func (t frameType) isKnown() bool { return int(t) < len(frameRules) && frameRules[t].isKnown }

// check checks the length and the stream of a frame against the rules of RFC 9113 §6.
func (h frameHeader) check() *Error {
	if !h.typ.isKnown() {
		return nil
	}
	rule := &frameRules[h.typ]
	if rule.stream == onStream && h.stream == 0 || rule.stream == onConn && h.stream != 0 {
		return ErrFrameStream
	}
	least := rule.min
	if rule.padded && h.has(flagPadded) {
		least++
	}
	if h.typ == typeHeaders && h.has(flagPriority) {
		least += 5
	}
	if h.length >= least && h.length <= rule.max && (h.typ != typeSettings || h.validSettings()) {
		return nil
	}
	if h.typ == typePriority {
		return ErrPriorityLength
	}
	return ErrFrameLength
}

// validSettings reports whether SETTINGS has a valid length (RFC 9113 §6.5).
func (h frameHeader) validSettings() bool {
	if h.has(flagAck) {
		return h.length == 0
	}
	return h.length%settingLen == 0
}
