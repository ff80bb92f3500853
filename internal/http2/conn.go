package http2

import "github.com/gallop-http/gallop/internal/hpack"

// Config has the limits of a connection and what it announces. All numbers must be positive. Many connections can share a
// Config, which must not change.
type Config struct {
	Role Role

	MaxConcurrentStreams uint32 // server: streams that the client may open at a time; client: streams that this side opens
	StreamWindow         uint32 // bytes of a body that the peer may send ahead, for each stream; at most 2^30-1
	ConnWindow           uint32 // the same for all streams together; from 65535 to 2^30-1
	MaxFrameSize         uint32 // largest payload of a frame that the peer may send; from 2^14 to 2^24-1
	MaxSendFrame         int    // largest payload of a DATA frame that this side sends; the peer's limit also applies
	HeaderTableSize      int    // table that the peer's encoder may use
	EncoderTableSize     int    // table that this side's encoder uses at most
	MaxBlock             int    // bytes of a compressed header block, beyond which the connection fails; more than Header.List
	Header               hpack.Limits
	MaxInterims          int  // interim responses to a request (client)
	ExtendedConnect      bool // the server permits extended CONNECT (RFC 8441)
	Pauses               bool // Next returns Pause after much work, so that the caller can serve other connections
}

// freeRefusals is how many streams a client may open beyond the limit before it has acknowledged that. Some clients send
// all their requests before they read.
const freeRefusals = 1000

// largestWindow is the largest window that this side announces.
const largestWindow = 1<<30 - 1

// Conn is one side of an HTTP/2 connection. Call Init before use. A Conn is not safe for concurrent use.
//
// Feed the peer's bytes to [Conn.Next], and write the bytes of [Conn.Out] whenever there are some. Next changes the stream's
// state before it returns an event, so the caller can respond at once.
//
// A stream is known by its identifier and by its slot, a small number. On a server, a stream begins with a Head event; on a
// client, with [Conn.Request]. It keeps its slot until [Conn.Release], which the caller must call for each stream when it has
// no more use for it. Slots are at most twice MaxConcurrentStreams.
//
// If the peer makes an error that concerns a single stream, that stream is reset, unless it is a request that has arrived
// completely and has no complete response yet. In that case the connection fails, because such errors only serve to make the
// server work for nothing (CVE-2025-8671). RFC 9113 §5.4.2 permits that.
type Conn struct {
	cfg    *Config
	failed *Error

	dec     hpack.Decoder
	enc     hpack.Encoder
	streams streamTable
	closed  closedStreams
	abuse   abuse
	block   assembler
	out     output
	own     ownSettings

	peer Settings
	send sendWindow
	recv recvWindow
	held int32 // bytes for which credit is held back

	skip     uint32 // bytes of the current frame that are to be skipped
	data     dataFrame
	peerLast uint32 // the last stream that the peer accepts, if peerGone

	sentData uint32 // when DATA was last sent, in seconds

	sched       scheduler
	freeUpdates uint16 // WINDOW_UPDATE frames that are not counted as control frames
	pings       uint16 // pings of the caller without a response
	holds       bool
	preface     uint8 // bytes of the preface that have arrived
	gotSettings bool  // the first SETTINGS of the peer has arrived
	shutdown    shutdownState
	peerGone    bool // GOAWAY has arrived
}

// Init starts a connection. It appends this side's preface and SETTINGS to the output.
func (c *Conn) Init(cfg *Config) {
	*c = Conn{cfg: cfg, peer: initialSettings, send: defaultWindow, recv: newRecvWindow(defaultWindow), out: output{buf: c.out.buf[:0]}}
	c.own.init()
	c.dec.Init()
	c.enc.Init(cfg.EncoderTableSize)
	c.abuse.init(cfg.MaxConcurrentStreams)
	first := initialSettings
	first.HeaderTableSize = uint32(min(cfg.HeaderTableSize, hpack.MaxTableSize))
	first.InitialWindowSize = min(cfg.StreamWindow, largestWindow)
	first.MaxFrameSize = cfg.MaxFrameSize
	first.MaxHeaderListSize = uint32(cfg.Header.List)
	first.NoPriorities = true
	if cfg.Role == Client {
		c.preface = uint8(len(Preface))
		c.out.buf = append(c.out.buf, Preface...)
		first.EnablePush = false
	} else {
		first.MaxConcurrentStreams = cfg.MaxConcurrentStreams
		first.EnableConnect = cfg.ExtendedConnect
	}
	c.out.buf, _ = c.own.announce(c.out.buf, &first, &initialSettings)
	if n := c.recv.grow(int32(min(cfg.ConnWindow, largestWindow))); n > 0 {
		c.out.buf = appendWindowUpdate(c.out.buf, 0, n)
	}
}

// Peer returns the settings of the peer.
func (c *Conn) Peer() Settings { return c.peer }

// Streams returns the number of streams that are not closed.
func (c *Conn) Streams() int { return int(c.streams.live) }

// Held returns the number of streams that are not released.
func (c *Conn) Held() int { return int(c.streams.used) }

// BlockOpen reports whether a header block is unfinished, which should not take long.
func (c *Conn) BlockOpen() bool { return c.block.stream != 0 }

// Started reports whether the peer's preface and first SETTINGS have arrived.
func (c *Conn) Started() bool { return c.gotSettings }

// SettingsUnacked reports whether the peer owes an acknowledgment of SETTINGS.
func (c *Conn) SettingsUnacked() bool { return c.own.unacked > 0 }

// Lend lets other connections use memory that this one needs only for its streams, if it has none.
func (c *Conn) Lend() { c.streams.lend() }

// Shrink frees memory that an idle connection does not need.
func (c *Conn) Shrink() {
	c.streams.shrink()
	c.block.shrink()
}

// Free gives back all memory but the buffer of the output, when the connection has ended. Next must not be called afterwards. Other
// methods find no streams.
func (c *Conn) Free() {
	c.streams.free()
	c.block.block = nil
	c.dec.Free()
	c.enc.Free()
}
