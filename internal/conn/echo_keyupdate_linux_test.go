package conn_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// updatingConn is a TLS 1.3 connection of a client that can update its keys (RFC 8446 §4.6.3), which crypto/tls cannot. It
// writes records itself, and crypto/tls reads.
type updatingConn struct {
	*tls.Conn
	secret []byte
	seal   cipher.AEAD
	iv     []byte
	number uint64 // of the next record
}

// updating does a handshake on nc.
func (r *echoRig) updating(nc net.Conn) *updatingConn {
	r.Helper()
	var keys bytes.Buffer
	c := &updatingConn{Conn: tls.Client(nc, &tls.Config{InsecureSkipVerify: true, KeyLogWriter: &keys})}
	if err := c.Handshake(); err != nil {
		r.Fatal(err)
	}
	if c.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
		_ = nc.Close()
		r.Skip("the connection uses another cipher")
	}
	for line := range bytes.Lines(keys.Bytes()) {
		if words := bytes.Fields(line); string(words[0]) == "CLIENT_TRAFFIC_SECRET_0" {
			c.secret, _ = hex.DecodeString(string(words[2]))
		}
	}
	c.setKeys()
	return c
}

// setKeys derives the keys from the secret (RFC 8446 §7.3).
func (c *updatingConn) setKeys() {
	block, err := aes.NewCipher(c.expand("key", 16))
	if err == nil {
		c.seal, err = cipher.NewGCM(block)
	}
	if err != nil {
		panic(err)
	}
	c.iv, c.number = c.expand("iv", 12), 0
}

// expand is HKDF-Expand-Label (RFC 8446 §7.1) without a context.
func (c *updatingConn) expand(label string, n int) []byte {
	label = "tls13 " + label
	out, err := hkdf.Expand(sha256.New, c.secret, fmt.Sprintf("\x00%c%c%s\x00", n, len(label), label), n)
	if err != nil {
		panic(err)
	}
	return out
}

// record writes a record (RFC 8446 §5.2).
func (c *updatingConn) record(kind byte, p []byte) error {
	nonce := bytes.Clone(c.iv)
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^c.number)
	c.number++
	inner := append(bytes.Clone(p), kind)
	head := binary.BigEndian.AppendUint16([]byte{23, 3, 3}, uint16(len(inner)+c.seal.Overhead()))
	_, err := c.NetConn().Write(c.seal.Seal(head, nonce, inner, head))
	return err
}

func (c *updatingConn) Write(p []byte) (int, error) { return len(p), c.record(23, p) }

// Close closes the connection without a close_notify.
func (c *updatingConn) Close() error { return c.NetConn().Close() }

// update updates the keys, and asks the server to do so too.
func (c *updatingConn) update() error {
	err := c.record(22, []byte{24, 0, 0, 1, 1})
	c.secret = c.expand("traffic upd", len(c.secret))
	c.setKeys()
	return err
}

// updatingClient is quiet for a client that can update its keys.
func (r *echoRig) updatingClient(n int) (*echoClient, *updatingConn, *echoWire) {
	r.Helper()
	raw := r.dial
	defer func() { r.dial = raw }()
	var u *updatingConn
	r.dial = func() (net.Conn, error) {
		nc, err := r.s.dialBelow()
		if err == nil {
			u = r.updating(nc)
		}
		return u, err
	}
	c, wire := r.quiet(n)
	return c, u, wire
}

// The worker that reads sends key updates while handlers push. The client can decrypt all it gets.
func TestEchoKeyUpdates(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	for _, transport := range []string{"memory-tls", "tls"} {
		overEchoLoop(t, transport, func(r *echoRig) {
			c, u, wire := r.updatingClient(20_000)
			defer c.conn.Close()
			go c.read(4<<10, nil)
			echo := r.open(c, "echo", 0)
			for range 20 {
				big := r.whole(c, "big 50000", 0)
				for range 7 { // crypto/tls allows 16 without data in between
					r.send(c, c.more(echo, 100))
					if err := u.update(); err != nil {
						r.Fatal(err)
					}
				}
				r.want(c, big, "")
			}
			r.send(c, appendFrame(nil, echo.id, frameEnd, ""))
			r.want(c, echo, "")
			if r.memory { // the response does not wait for the next push
				synctest.Wait()
				if err := u.update(); err != nil {
					r.Fatal(err)
				}
				synctest.Wait()
				if n := wire.pushed(); n > 0 {
					r.Errorf("%d bytes of a key update are unsent", n)
				}
			}
			r.eventually(wire, "without a buffer", func() bool { return !wire.loop.pusher.HoldsBuffer() })
		})
	}
}

// A client that asks for key updates and does not read them loses its connection before it costs much memory, whether there
// is an exchange or not.
func TestEchoTooManyKeyUpdates(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	for _, name := range []string{"block", "now"} {
		t.Run(name, func(t *testing.T) {
			overEchoLoop(t, "memory-tls", func(r *echoRig) { r.tooManyKeyUpdates(name) })
		})
	}
}

func (r *echoRig) tooManyKeyUpdates(name string) {
	c, u, wire := r.updatingClient(1000)
	defer c.conn.Close()
	x := r.open(c, name, 0)
	most, err := 0, error(nil)
	for i := 0; i < 20_000 && err == nil; i++ {
		if err = u.update(); err == nil && i%10 == 0 { // crypto/tls allows 16 without data in between
			err = c.write(c.more(x, 1))
			time.Sleep(time.Millisecond)
			most = max(most, wire.pushed())
		}
	}
	if err == nil || most < conn.MostPushed || most > conn.MostRecords {
		r.Errorf("%d bytes were unsent, and the client saw %v", most, err)
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, r.s.Table.Wake)()
	if !r.s.Table.WaitEmpty(ctx) {
		r.Error("the connection goes on")
	}
}
