package http2flood

import (
	"bytes"
	"encoding/binary"
	"strings"

	"golang.org/x/net/http2"
)

// attack is a burst of frames on one connection.
type attack struct {
	name   string
	want   http2.ErrCode // of GOAWAY
	frames int           // the server must have ended the connection after that many
	before func(*peer)   // is called once
	next   func(*peer)   // sends one or two frames
}

const calm = http2.ErrCodeEnhanceYourCalm

// attacks are named as in the advisories. The first seven are bursts against which some servers do nothing.
var attacks = []attack{
	{"rapid reset (CVE-2023-44487)", calm, 6000, nil, func(p *peer) {
		p.open("GET", "/slow", true)
		p.note(p.WriteRSTStream(p.id, http2.ErrCodeCancel))
	}},
	{"made you reset by WINDOW_UPDATE of 0 (CVE-2025-8671)", http2.ErrCodeProtocol, 20, nil, afterRequest(func(p *peer) error {
		return p.WriteWindowUpdate(p.id, 0)
	})},
	{"PING flood (CVE-2019-9512)", calm, 2000, nil, func(p *peer) { p.note(p.WritePing(false, [8]byte{1})) }},
	{"SETTINGS flood (CVE-2019-9515)", calm, 2000, nil, func(p *peer) { p.note(p.WriteSettings()) }},
	{"empty DATA (CVE-2019-9518)", calm, 300, post, func(p *peer) { p.note(p.WriteData(p.id, false, nil)) }},
	{"empty CONTINUATION (CVE-2024-27316)", calm, 20, openBlock, func(p *peer) { p.note(p.WriteContinuation(p.id, false, nil)) }},
	{"WINDOW_UPDATE of 1", calm, 3000, nil, func(p *peer) { p.note(p.WriteWindowUpdate(0, 1)) }},

	{"made you reset by overflow", http2.ErrCodeFlowControl, 20, nil, afterRequest(func(p *peer) error {
		return p.WriteWindowUpdate(p.id, 1<<31-1)
	})},
	{"made you reset by PRIORITY of 4 bytes", http2.ErrCodeFrameSize, 20, nil, afterRequest(func(p *peer) error {
		return p.WriteRawFrame(http2.FramePriority, 0, p.id, make([]byte, 4))
	})},
	{"made you reset by self-dependency", http2.ErrCodeProtocol, 20, nil, afterRequest(func(p *peer) error {
		return p.WritePriority(p.id, http2.PriorityParam{StreamDep: p.id})
	})},
	{"made you reset by DATA after the end", http2.ErrCodeStreamClosed, 20, nil, afterRequest(func(p *peer) error {
		return p.WriteData(p.id, false, []byte("x"))
	})},
	{"made you reset by HEADERS after the end", http2.ErrCodeStreamClosed, 20, nil, afterRequest(func(p *peer) error {
		return p.WriteHeaders(http2.HeadersFrameParam{StreamID: p.id, BlockFragment: p.encode("GET", "/"), EndHeaders: true, EndStream: true})
	})},
	{"made you reset before the end", calm, 2000, nil, func(p *peer) {
		p.open("POST", "/slow", false)
		p.note(p.WriteWindowUpdate(p.id, 0))
	}},
	{"refused streams", calm, 2000, nil, func(p *peer) { p.open("POST", "/slow", false) }},
	{"malformed requests", calm, 1000, nil, func(p *peer) { p.open("GET", "/", true, "connection", "close") }},
	{"headers without a name (CVE-2019-9516)", calm, 1000, nil, func(p *peer) {
		p.headers(append(manyOf(0, 0), make([]byte, 3*200)...), true, true)
	}},
	{"CONTINUATION flood (CVE-2024-28182)", calm, 20, openBlock, func(p *peer) {
		p.note(p.WriteContinuation(p.id, false, bytes.Repeat([]byte{0, 1, 'x', 1, 'x'}, 1000)))
	}},
	{"HPACK bomb (CVE-2016-6581)", calm, 20, fillTable, func(p *peer) { p.headers(manyOf(0xbe, 16000), true, true) }},
	{"HTTP/2 bomb (CVE-2026-49975)", calm, 2000, fillCookie, func(p *peer) { p.headers(manyOf(0xbe, 1900), true, true) }},
	{"HTTP/2 bomb with as many fields as allowed", calm, 2000, fillCookie, func(p *peer) { p.headers(manyOf(0xbe, 250), true, true) }},
	{"table size update beyond the limit", http2.ErrCodeCompression, 10, nil, func(p *peer) {
		p.headers(hpackInt(0x20, 5, 4097), true, true)
	}},
	{"integer that overflows", http2.ErrCodeCompression, 10, nil, func(p *peer) {
		p.headers(append([]byte{0xff}, bytes.Repeat([]byte{0xff}, 20)...), true, true)
	}},
	{"end of string in Huffman code", http2.ErrCodeCompression, 10, nil, func(p *peer) {
		p.headers([]byte{0x00, 0x84, 0xff, 0xff, 0xff, 0xff, 0x01, 'x'}, true, true)
	}},
	{"string longer than the block", http2.ErrCodeCompression, 10, nil, func(p *peer) {
		p.headers(append([]byte{0x00}, hpackInt(0, 7, 1<<27)...), true, true)
	}},
	{"PRIORITY flood (CVE-2019-9513)", calm, 2000, nil, func(p *peer) {
		p.note(p.WritePriority(1, http2.PriorityParam{StreamDep: 3}))
	}},
	{"PRIORITY_UPDATE flood", calm, 2000, nil, func(p *peer) {
		p.note(p.WriteRawFrame(0x10, 0, 0, []byte("\x00\x00\x00\x01u=1")))
	}},
	{"unknown frames", calm, 2000, nil, func(p *peer) { p.note(p.WriteRawFrame(0xfa, 0, 0, []byte("grease"))) }},
	{"RST_STREAM on closed streams", calm, 3000, func(p *peer) { p.open("GET", "/", true) }, func(p *peer) {
		p.note(p.WriteRSTStream(p.id, http2.ErrCodeCancel))
	}},
	{"data dribble (CVE-2019-9511)", calm, 6000, func(p *peer) {
		p.note(p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
		for range 50 {
			p.open("GET", "/big?n=10000", true)
		}
	}, func(p *peer) { p.note(p.WriteWindowUpdate(p.id-uint32(p.frames%50)*2, 1)) }},
	{"tiny DATA that nobody reads", calm, 700_000, posts("/hang"), tinyData},
	{"tiny DATA behind a response that waits for a window", calm, 700_000, func(p *peer) {
		p.note(p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
		posts("/big?n=1000")(p)
	}, tinyData},
}

// collectedAttacks are attacks on a server that collects request bodies.
var collectedAttacks = []attack{
	{"tiny DATA that is collected", calm, 700_000, posts("/"), tinyData},
	{"tiny DATA that a handler collects", calm, 700_000, posts("/body", "expect", "100-continue"), tinyData},
	{"empty DATA", calm, 300, posts("/"), func(p *peer) { p.note(p.WriteData(p.id, false, nil)) }},
}

// posts returns a function that begins 90 requests with a body.
func posts(path string, fields ...string) func(*peer) {
	return func(p *peer) {
		for range 90 {
			p.open("POST", path, false, fields...)
		}
	}
}

// tinyData sends a byte of each of the bodies. The frames are the same each time, so that the attacker takes less of the
// processor than the server.
func tinyData(p *peer) {
	if p.batch == nil {
		for i := range uint32(90) {
			p.batch = append(p.batch, 0, 0, 1, byte(http2.FrameData), 0)
			p.batch = append(binary.BigEndian.AppendUint32(p.batch, p.id-2*i), 'x')
		}
	}
	_, err := p.out.Write(p.batch)
	p.note(err)
	p.frames += 89
}

// afterRequest returns the frames of a request that takes a while, and of an error on its stream.
func afterRequest(write func(*peer) error) func(*peer) {
	return func(p *peer) {
		p.open("GET", "/hang", true)
		p.note(write(p))
	}
}

func post(p *peer) { p.open("POST", "/read", false) }

// openBlock starts a header block that does not end.
func openBlock(p *peer) { p.headers(p.encode("GET", "/"), true, false) }

// fillTable fills the table of the server's decoder with one large field.
func fillTable(p *peer) { p.open("GET", "/", true, "x", strings.Repeat("x", 4000)) }

// fillCookie puts a small cookie into the table of the server's decoder, and opens no window for responses.
func fillCookie(p *peer) {
	p.note(p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
	p.open("GET", "/", true, "cookie", "a=b")
}

// manyOf returns the head of a request with a byte n times at its end.
func manyOf(b byte, n int) []byte {
	head := []byte{0x82, 0x86, 0x84, 0x01, 0x01, 'h'} // GET, http, "/", authority "h"
	return append(head, bytes.Repeat([]byte{b}, n)...)
}

// hpackInt returns n as an integer with a prefix of some bits (RFC 7541 §5.1).
func hpackInt(first byte, bits uint, n uint64) []byte {
	most := uint64(1)<<bits - 1
	if n < most {
		return []byte{first | byte(n)}
	}
	b := []byte{first | byte(most)}
	for n -= most; n >= 128; n >>= 7 {
		b = append(b, 0x80|byte(n))
	}
	return append(b, byte(n))
}
