package http2

// maxUnacked is how many SETTINGS frames of ours may wait for their acknowledgment.
const maxUnacked = 2

// ownSettings are the settings that this side announces. The peer uses a value only after it has acknowledged it, and
// acknowledges frames in their order (RFC 9113 §6.5.3).
//
//	acked   what the peer may rely on being enforced
//	sent    the values of the frames that are not acknowledged yet, the oldest first; sent[:unacked] is in use
type ownSettings struct {
	acked   Settings
	sent    [maxUnacked]sentSettings
	unacked uint8
}

// sentSettings are the values that need an acknowledgment before they count. Other values never change after the first frame.
type sentSettings struct{ headerTableSize, maxConcurrentStreams, initialWindowSize, maxFrameSize uint32 }

// newest returns the values that were announced last.
func (o *ownSettings) newest() Settings {
	s := o.acked
	if o.unacked > 0 {
		o.sent[o.unacked-1].copyTo(&s)
	}
	return s
}

func (s *sentSettings) copyTo(to *Settings) {
	to.HeaderTableSize, to.MaxConcurrentStreams = s.headerTableSize, s.maxConcurrentStreams
	to.InitialWindowSize, to.MaxFrameSize = s.initialWindowSize, s.maxFrameSize
}

// announce appends a SETTINGS frame that changes the newest values to those of s. It reports false if too many frames are not
// acknowledged yet.
func (o *ownSettings) announce(dst []byte, s, before *Settings) ([]byte, bool) {
	if o.unacked == maxUnacked {
		return dst, false
	}
	o.sent[o.unacked] = sentSettings{s.HeaderTableSize, s.MaxConcurrentStreams, s.InitialWindowSize, s.MaxFrameSize}
	o.unacked++
	return appendSettings(dst, s, before), true
}

// ack makes the oldest unacknowledged values count, and returns the values before and afterwards. It reports false if no
// acknowledgment is due.
func (o *ownSettings) ack() (before, after Settings, ok bool) {
	if o.unacked == 0 {
		return before, after, false
	}
	before = o.acked
	o.sent[0].copyTo(&o.acked)
	o.unacked--
	copy(o.sent[:], o.sent[1:])
	return before, o.acked, true
}
