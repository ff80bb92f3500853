package http2flood

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
)

// plainClient sends requests for "/" on one connection. It takes little of the processor.
type plainClient struct {
	conn io.ReadWriter
	in   *bufio.Reader
	out  []byte
	id   uint32 // of the latest stream
}

// dialPlain connects a client to addr until the test ends.
func dialPlain(t *testing.T, addr string) *plainClient {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c, err := newPlainClient(conn)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newPlainClient(conn io.ReadWriter) (*plainClient, error) {
	c := &plainClient{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), id: ^uint32(0)}
	c.out = append(c.out, http2.ClientPreface...)
	c.frame(http2.FrameSettings, 0, 0)
	c.frame(http2.FrameSettings, http2.FlagSettingsAck, 0)
	c.frame(http2.FrameWindowUpdate, 0, 0, 0x7f, 0, 0, 0)
	return c, c.flush()
}

// frame appends a frame to the output.
func (c *plainClient) frame(typ http2.FrameType, flags http2.Flags, stream uint32, payload ...byte) {
	c.out = append(c.out, 0, 0, byte(len(payload)), byte(typ), byte(flags))
	c.out = append(binary.BigEndian.AppendUint32(c.out, stream), payload...)
}

func (c *plainClient) flush() error {
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	return err
}

// send sends n requests.
func (c *plainClient) send(n int) error {
	for range n {
		c.id += 2
		c.frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, c.id, 0x82, 0x86, 0x84, 0x01, 0x01, 'h') // GET, http, "/", authority "h"
	}
	return c.flush()
}

// receive reads until a response has ended, and as far as more has arrived. It returns how many responses have ended. If ended is not
// nil, it is called with the stream of each.
func (c *plainClient) receive(ended func(stream uint32)) (n int, err error) {
	for n == 0 || c.in.Buffered() > 0 {
		head, err := c.in.Peek(9)
		if err != nil {
			return n, err
		}
		size := int(head[0])<<16 | int(head[1])<<8 | int(head[2])
		typ, flags := http2.FrameType(head[3]), http2.Flags(head[4])
		frame, err := c.in.Peek(9 + size)
		if err != nil {
			return n, err
		}
		switch {
		case typ == http2.FrameHeaders && frame[9] != 0x88, typ == http2.FrameRSTStream, typ == http2.FrameGoAway:
			return n, fmt.Errorf("not a response with status 200: %x", frame)
		case (typ == http2.FrameHeaders || typ == http2.FrameData) && flags.Has(http2.FlagDataEndStream):
			if n++; ended != nil {
				ended(binary.BigEndian.Uint32(frame[5:]))
			}
		}
		if _, err := c.in.Discard(len(frame)); err != nil {
			return n, err
		}
	}
	return n, nil
}
