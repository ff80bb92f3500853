package http2time_test

import (
	"bytes"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// A client is not late if its bytes have arrived, and the server was too busy to read them.
func TestBusyServerDoesNotBlameItsClients(t *testing.T) {
	for name, acked := range map[string]bool{"acknowledged": true, "not acknowledged": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testBusyServer(t, acked) })
		})
	}
}

func testBusyServer(t *testing.T, acked bool) {
	s := &gallop.Server{Logger: servertest.Quiet, Protocols: new(gallop.Protocols), Handler: func(*gallop.RequestCtx) {}}
	s.Protocols.SetUnencryptedHTTP2(true)
	ln := servertest.ListenOnLoop(s)
	var busy atomic.Bool
	servertest.Kernel(s).Step = func(call string, _ int) {
		if call == "read" && busy.CompareAndSwap(true, false) {
			time.Sleep(15 * time.Second)
		}
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	client, server := wiretest.Pipe()
	ln.Connect(server)
	fr := http2.NewFramer(io.Discard, client)
	var out bytes.Buffer
	to := http2.NewFramer(&out, nil)
	out.WriteString(http2.ClientPreface)
	_ = to.WriteSettings()
	_, _ = client.Write(out.Bytes())
	time.Sleep(5 * time.Second)
	busy.Store(true)
	out.Reset()
	if acked {
		_ = to.WriteSettingsAck()
	}
	_ = to.WritePing(false, [8]byte{1})
	_, _ = client.Write(out.Bytes())
	time.Sleep(25 * time.Second)
	_ = s.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	timedOut := false
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			break
		}
		if away, ok := f.(*http2.GoAwayFrame); ok && away.ErrCode == http2.ErrCodeSettingsTimeout {
			timedOut = true
		}
	}
	if timedOut == acked {
		t.Errorf("the server says that the client was late: %v", timedOut)
	}
}
