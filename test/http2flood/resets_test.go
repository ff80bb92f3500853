package http2flood

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/test/internal/servertest"
	"golang.org/x/net/http2"
)

// If requests and their resets arrive together, no handlers are called, although one read does not get all of them.
func TestResetsAreReadFirst(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		s := start(t, over, nil)
		nc, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		var out bytes.Buffer
		f := http2.NewFramer(&out, nc)
		out.WriteString(http2.ClientPreface)
		f.WriteSettings()
		pingPong(t, f, &out, nc)
		for i := range uint32(streams) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: manyOf(0x84, 0), EndHeaders: true, EndStream: true})
			f.WriteRawFrame(0xfa, 0, 0, make([]byte, 60)) // an unknown frame
		}
		for i := range uint32(streams) {
			f.WriteRSTStream(2*i+1, http2.ErrCodeCancel)
		}
		pingPong(t, f, &out, nc)
		if n := s.served.Load(); n != 0 {
			t.Errorf("%d handlers were called", n)
		}
	})
}

// pingPong sends a PING after the other output of f, and waits for its acknowledgment.
func pingPong(t *testing.T, f *http2.Framer, out *bytes.Buffer, nc net.Conn) {
	t.Helper()
	f.WritePing(false, [8]byte{})
	_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := out.WriteTo(nc); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if ping, ok := frame.(*http2.PingFrame); ok && ping.IsAck() {
			return
		}
	}
}
