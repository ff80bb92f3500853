package http2

import "encoding/binary"

// Identifiers of settings (RFC 9113 §6.5.2, RFC 8441 §3, RFC 9218 §2.1). Others are ignored.
const (
	settingHeaderTableSize      = 1
	settingEnablePush           = 2
	settingMaxConcurrentStreams = 3
	settingInitialWindowSize    = 4
	settingMaxFrameSize         = 5
	settingMaxHeaderListSize    = 6
	settingEnableConnect        = 8
	settingNoPriorities         = 9
)

// settingLen is the length of a setting in a frame.
const settingLen = 6

const (
	defaultWindow    = 65535
	defaultFrameSize = 16384
	largestFrameSize = 1<<24 - 1
	unlimited        = 1<<32 - 1
)

// Settings are the values that one side of a connection announces (RFC 9113 §6.5.2).
type Settings struct {
	HeaderTableSize      uint32
	MaxConcurrentStreams uint32
	InitialWindowSize    uint32
	MaxFrameSize         uint32
	MaxHeaderListSize    uint32
	EnablePush           bool
	EnableConnect        bool // extended CONNECT (RFC 8441)
	NoPriorities         bool // the tree of RFC 7540 is not used (RFC 9218)
}

// initialSettings are the values before the first SETTINGS.
var initialSettings = Settings{
	HeaderTableSize: 4096, MaxConcurrentStreams: unlimited, InitialWindowSize: defaultWindow,
	MaxFrameSize: defaultFrameSize, MaxHeaderListSize: unlimited, EnablePush: true,
}

// applyPeer applies the payload of a SETTINGS frame of the peer to s, in order. A later value of the same setting replaces an
// earlier one. first says that this is the peer's first SETTINGS frame, and from which role the peer has.
func (s *Settings) applyPeer(payload []byte, first bool, from Role) *Error {
	before := s.NoPriorities
	for ; len(payload) > 0; payload = payload[settingLen:] {
		if err := s.apply(binary.BigEndian.Uint16(payload), u32(payload[2:]), from); err != nil {
			return err
		}
	}
	if !first && s.NoPriorities != before {
		return ErrNoPriorities
	}
	return nil
}

func (s *Settings) apply(id uint16, v uint32, from Role) *Error {
	switch id {
	case settingHeaderTableSize:
		s.HeaderTableSize = v
	case settingEnablePush:
		if v > 1 || v == 1 && from == Server {
			return ErrEnablePush
		}
		s.EnablePush = v == 1
	case settingMaxConcurrentStreams:
		s.MaxConcurrentStreams = v
	case settingInitialWindowSize:
		if v > maxWindow {
			return ErrInitialWindow
		}
		s.InitialWindowSize = v
	case settingMaxFrameSize:
		if v < defaultFrameSize || v > largestFrameSize {
			return ErrMaxFrameSize
		}
		s.MaxFrameSize = v
	case settingMaxHeaderListSize:
		s.MaxHeaderListSize = v
	case settingEnableConnect:
		if v > 1 || v == 0 && s.EnableConnect {
			return ErrEnableConnect
		}
		s.EnableConnect = v == 1
	case settingNoPriorities:
		if v > 1 {
			return ErrNoPriorities
		}
		s.NoPriorities = v == 1
	}
	return nil
}

// appendSettings appends a SETTINGS frame with the values of s that differ from those of before.
func appendSettings(dst []byte, s, before *Settings) []byte {
	mark := len(dst)
	dst = appendFrameHeader(dst, 0, typeSettings, 0, 0)
	add := func(id uint16, v, old uint32) {
		if v != old {
			dst = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(dst, id), v)
		}
	}
	add(settingHeaderTableSize, s.HeaderTableSize, before.HeaderTableSize)
	add(settingEnablePush, bit(s.EnablePush), bit(before.EnablePush))
	add(settingMaxConcurrentStreams, s.MaxConcurrentStreams, before.MaxConcurrentStreams)
	add(settingInitialWindowSize, s.InitialWindowSize, before.InitialWindowSize)
	add(settingMaxFrameSize, s.MaxFrameSize, before.MaxFrameSize)
	add(settingMaxHeaderListSize, s.MaxHeaderListSize, before.MaxHeaderListSize)
	add(settingEnableConnect, bit(s.EnableConnect), bit(before.EnableConnect))
	add(settingNoPriorities, bit(s.NoPriorities), bit(before.NoPriorities))
	n := len(dst) - mark - headerLen
	dst[mark+1], dst[mark+2] = byte(n>>8), byte(n)
	return dst
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
