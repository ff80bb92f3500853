package http2

// maxUnacked is how many SETTINGS frames of ours may wait for their acknowledgment.
const maxUnacked = 2

// ownSettings are the settings that this side announces. The peer uses a value only after it has acknowledged it, and
// acknowledges frames in their order (RFC 9113 §6.5.3).
//
//	acked   what the peer may rely on being enforced
//	sent    the values of the frames that are not acknowledged yet, the oldest first; sent[:unacked] is in use
type ownSettings struct {
	acked        sentSettings
	sent         *[maxUnacked]sentSettings // nil if unacked is 0
	freeRefusals uint16                    // refused streams that are not counted, while the peer may not know the limit of streams
	unacked      uint8
}

// sentSettings are the values that need an acknowledgment before they count. Other values never change after the first frame.
type sentSettings struct{ headerTableSize, maxConcurrentStreams, initialWindowSize, maxFrameSize uint32 }

func sentOf(s *Settings) sentSettings {
	return sentSettings{s.HeaderTableSize, s.MaxConcurrentStreams, s.InitialWindowSize, s.MaxFrameSize}
}

func (o *ownSettings) init() { o.acked, o.freeRefusals = sentOf(&initialSettings), freeRefusals }

// newest returns the values that were announced last. Values that never change are those of initialSettings.
func (o *ownSettings) newest() Settings {
	s, v := initialSettings, o.newestValues()
	s.HeaderTableSize, s.MaxConcurrentStreams = v.headerTableSize, v.maxConcurrentStreams
	s.InitialWindowSize, s.MaxFrameSize = v.initialWindowSize, v.maxFrameSize
	return s
}

func (o *ownSettings) newestValues() *sentSettings {
	if o.unacked > 0 {
		return &o.sent[o.unacked-1]
	}
	return &o.acked
}

// announce appends a SETTINGS frame that changes the newest values to those of s. It reports false if too many frames are not
// acknowledged yet.
func (o *ownSettings) announce(dst []byte, s, before *Settings) ([]byte, bool) {
	if o.unacked == maxUnacked {
		return dst, false
	}
	if o.sent == nil {
		o.sent = new([maxUnacked]sentSettings)
	}
	o.sent[o.unacked] = sentOf(s)
	o.unacked++
	return appendSettings(dst, s, before), true
}

// ack makes the oldest unacknowledged values count, and returns the values before and afterwards. It reports false if no
// acknowledgment is due.
func (o *ownSettings) ack() (before, after sentSettings, ok bool) {
	if o.unacked == 0 {
		return before, after, false
	}
	before = o.acked
	o.acked = o.sent[0]
	copy(o.sent[:], o.sent[1:])
	if o.unacked--; o.unacked == 0 {
		o.sent = nil
	}
	return before, o.acked, true
}
