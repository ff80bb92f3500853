package conn

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"syscall"
	"testing"
)

// noDescriptor is a connection whose descriptor cannot be duplicated.
type noDescriptor struct{ net.Conn }

func (noDescriptor) SyscallConn() (syscall.RawConn, error) { return nil, syscall.EMFILE }

// A connection that the watch of a listener has accepted is served although there is no descriptor with which a loop could have it.
func TestHandOverWithoutDescriptors(t *testing.T) {
	for _, tt := range []struct {
		name     string
		listener net.Listener
		most     int
		isTLS    bool
		served   bool
	}{
		{"plain", nil, 1, false, true},
		{"TLS", &TLSListener{Config: &tls.Config{}}, 1, true, true},
		{"too many connections", nil, 0, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			served := make(chan Accepted, 1)
			s := &Server{}
			s.Log.To = log.New(io.Discard, "", 0)
			s.Init(&Settings{MaxConns: tt.most}, Hooks{
				Serve:  func(c Accepted) { served <- c },
				Reject: func(error) (int, []byte) { return 503, []byte("full") },
			})
			client, server := net.Pipe()
			defer client.Close()
			w := &closedListenerWatch{s: s, of: &Listener{Listener: tt.listener}}
			w.handOver(noDescriptor{server})
			if !tt.served {
				got := make([]byte, 4)
				if _, err := client.Read(got); err != nil || string(got) != "full" || s.Table.RejectedFull.Load() != 1 {
					t.Errorf("got %q, %v, %d rejected", got, err, s.Table.RejectedFull.Load())
				}
				return
			}
			c := <-served
			if _, isTLS := c.Conn.(*tls.Conn); isTLS != tt.isTLS || c.From != w.of {
				t.Errorf("served %T of %v", c.Conn, c.From)
			}
		})
	}
}
