package http2flood

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/test/internal/servertest"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A connection gives its memory back when it ends. Otherwise the garbage of clients that connect again and again has the garbage
// collector run hundreds of times a second, which delays all other clients.
func TestGarbageOfConnections(t *testing.T) {
	if servertest.RaceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	const most = 10 << 10 // bytes for each connection, of which its client takes two
	for _, tt := range []struct {
		name  string
		write func(f *http2.Framer)
	}{
		{"many streams", func(f *http2.Framer) {
			for i := range uint32(streams) {
				f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: manyOf(0, 0), EndHeaders: true, EndStream: true})
			}
		}},
		{"streams that are reset", func(f *http2.Framer) {
			for i := range uint32(streams) {
				f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: manyOf(0, 0), EndHeaders: true})
				f.WriteRSTStream(2*i+1, http2.ErrCodeCancel)
			}
		}},
		{"large fields", func(f *http2.Framer) {
			var block bytes.Buffer
			e := hpack.NewEncoder(&block)
			for _, field := range []string{":method GET", ":scheme http", ":path /", ":authority h", "x " + strings.Repeat("x", 4000)} {
				name, value, _ := strings.Cut(field, " ")
				e.WriteField(hpack.HeaderField{Name: name, Value: value})
			}
			block.Write(bytes.Repeat([]byte{0xbe}, 14))
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
				s := start(t, over, nil)
				script := bytes.NewBufferString(http2.ClientPreface)
				f := http2.NewFramer(script, nil)
				f.WriteSettings()
				tt.write(f)
				f.WriteRawFrame(http2.FramePing, 0, 0, make([]byte, 7)) // the server ends the connection
				response := make([]byte, 64<<10)
				connect := func() {
					nc, err := net.Dial("tcp", s.addr)
					if err != nil {
						t.Fatal(err)
					}
					defer nc.Close()
					if _, err := nc.Write(script.Bytes()); err != nil {
						t.Fatal(err)
					}
					for err == nil {
						_, err = nc.Read(response)
					}
					if err != io.EOF {
						t.Fatal(err)
					}
				}
				defer debug.SetGCPercent(debug.SetGCPercent(-1))
				for range 50 {
					connect()
				}
				const conns = 200
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for range conns {
					connect()
				}
				runtime.ReadMemStats(&after)
				if n := (after.TotalAlloc - before.TotalAlloc) / conns; n > most {
					t.Errorf("%d bytes of garbage for each connection, want at most %d", n, most)
				} else {
					t.Logf("%d bytes of garbage for each connection", n)
				}
			})
		})
	}
}
