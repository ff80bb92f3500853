package fiberapps

import (
	"net"
	"testing"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"
)

// A WebSocket server of fasthttp/websocket, which takes connections over from fasthttp, works on gallop.
func TestWebSocket(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	upgrader := websocket.FastHTTPUpgrader{}
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		err := upgrader.Upgrade(ctx, func(conn *websocket.Conn) {
			defer conn.Close()
			kind, text, err := conn.ReadMessage()
			if err == nil {
				err = conn.WriteMessage(kind, append([]byte("echo: "), text...))
			}
			if err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Error(err)
		}
	}}
	go s.Serve(ln)
	defer s.Shutdown()

	conn, _, err := websocket.DefaultDialer.Dial("ws://"+ln.Addr().String()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.WriteMessage(websocket.TextMessage, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, text, err := conn.ReadMessage(); err != nil || string(text) != "echo: hello" {
		t.Errorf("got %q, %v", text, err)
	}
}
