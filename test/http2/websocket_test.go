package http2_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
)

// The opcodes of WebSocket frames (RFC 6455 §5.2).
const (
	wsMore  = 0
	wsText  = 1
	wsClose = 8
	wsPing  = 9
	wsPong  = 10
)

// wsFrame returns a WebSocket frame. Frames of clients are masked (RFC 6455 §5.3).
func wsFrame(opcode byte, last, masked bool, payload string) string {
	b := []byte{opcode, 0}
	if last {
		b[0] |= 0x80
	}
	switch n := len(payload); {
	case n < 126:
		b[1] = byte(n)
	case n < 1<<16:
		b[1] = 126
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b[1] = 127
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	if !masked {
		return string(b) + payload
	}
	b[1] |= 0x80
	mask := "\x12\x34\x56\x78"
	b = append(b, mask...)
	for i := range len(payload) {
		b = append(b, payload[i]^mask[i%4])
	}
	return string(b)
}

// readWSFrame reads a masked frame.
func readWSFrame(r *bufio.Reader) (opcode byte, last bool, payload string, err error) {
	var head [2]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return 0, false, "", err
	}
	size := uint64(head[1] & 0x7f)
	if more := map[uint64]int{126: 2, 127: 8}[size]; more > 0 {
		var b [8]byte
		if _, err = io.ReadFull(r, b[8-more:]); err != nil {
			return 0, false, "", err
		}
		size = binary.BigEndian.Uint64(b[:])
	}
	rest := make([]byte, 4+size)
	if _, err = io.ReadFull(r, rest); err != nil {
		return 0, false, "", err
	}
	if head[1]&0x80 == 0 {
		return 0, false, "", errors.New("a frame of a client is not masked")
	}
	mask, data := rest[:4], rest[4:]
	for i := range data {
		data[i] ^= mask[i%4]
	}
	return head[0] & 0x0f, head[0]&0x80 != 0, string(data), nil
}

// echoWebSocket sends back the frames of messages, and responds to pings, until the client closes the WebSocket.
func echoWebSocket(nc net.Conn) error {
	defer nc.Close()
	r := bufio.NewReader(nc)
	for {
		opcode, last, payload, err := readWSFrame(r)
		if err != nil {
			return err
		}
		if opcode == wsPing {
			opcode = wsPong
		}
		if _, err := io.WriteString(nc, wsFrame(opcode, last, false, payload)); err != nil || opcode == wsClose {
			return err
		}
	}
}

// A WebSocket over a stream (RFC 8441): a text, a ping within a message of 100 KB in fragments, and the closing handshake.
func TestWebSocketFrames(t *testing.T) {
	onSites(t, func(w *site) {
		ended := make(chan error, 1)
		w.serve(&gallop.Server{ExtendedConnect: true, Handler: func(ctx *gallop.RequestCtx) {
			if !ctx.IsConnect() {
				return
			}
			nc, err := ctx.AcceptStream()
			if err != nil {
				w.t.Error(err)
				return
			}
			go func() { ended <- echoWebSocket(nc) }()
		}})
		c := w.dial()
		scheme := map[bool]string{false: "http", true: "https"}[w.tls]
		id := c.openRaw(false, ":method: CONNECT", ":protocol: websocket", ":scheme: "+scheme, ":authority: example.com", ":path: /", "sec-websocket-version: 13")
		want := ""
		say := func(opcode, reply byte, last bool, payload string) {
			w.t.Helper()
			c.data(id, wsFrame(opcode, last, true, payload), false)
			want += wsFrame(reply, last, false, payload)
			if st := c.awaitBody(id, len(want)); string(st.body) != want {
				w.t.Fatalf("frame %d of %d bytes: something else came back", opcode, len(payload))
			}
		}
		say(wsText, wsText, true, "hello")
		part := strings.Repeat("0123456789", 2000)
		say(wsText, wsText, false, part)
		for i := range 3 {
			say(wsMore, wsMore, false, part)
			say(wsPing, wsPong, true, fmt.Sprint("ping ", i))
		}
		say(wsMore, wsMore, true, part)
		say(wsClose, wsClose, true, "\x03\xe8bye")
		if err := await(w, ended); err != nil {
			w.t.Error(err)
		}
		c.data(id, "", true)
		c.want(c.await(id), 200, want)
		c.wantAlive()
	})
}
