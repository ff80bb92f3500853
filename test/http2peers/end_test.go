package http2peers_test

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// The end of a connection is noticed even if it arrives together with the last bytes, so that the poller reports both at once.
func TestEndBehindData(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // nothing runs between the server's calls
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go endBehindData(nc.(*net.TCPConn))
		}
	}()
	var protocols gallop.Protocols
	protocols.SetUnencryptedHTTP2(true)
	client := &gallop.Client{Protocols: &protocols}
	for range 5 {
		var req gallop.Request
		var resp gallop.Response
		req.SetRequestURI("http://" + ln.Addr().String() + "/")
		begun := time.Now()
		if err := client.DoTimeout(&req, &resp, 20*time.Second); err == nil || time.Since(begun) > 10*time.Second {
			t.Fatalf("%v after %v", err, time.Since(begun))
		}
	}
}

// endBehindData sends a part of a response and the end of the connection.
func endBehindData(nc *net.TCPConn) {
	defer nc.Close()
	preface := make([]byte, 24+9)
	if _, err := io.ReadFull(nc, preface); err != nil {
		return
	}
	nc.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // SETTINGS
	time.Sleep(20 * time.Millisecond)           // so that the client has sent its request, and waits
	nc.Write([]byte{0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88, 0, 0, 1, 0, 0, 0, 0, 0, 1, 'x'})
	nc.CloseWrite()
	io.Copy(io.Discard, nc)
}
