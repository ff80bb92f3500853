package conn_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
)

// The echo protocol is a second wire over package conn, for its tests. It has up to mostOpen exchanges at once on one
// connection, as HTTP/2 has.
//
//	echo_test.go              the protocol over bytes
//	echo_wire_test.go         the wire: frames in, frames out, one lock for each connection
//	echo_exchange_test.go     an exchange, and what its handler can do
//	echo_program_test.go      the handler
//	echo_server_test.go       a server of it, with goroutines
//	echo_loop_linux_test.go   the same on event loops
//	echo_client_test.go       its client, which checks all it gets
//	echo_cases_test.go        one promise after the other, over every transport
//	echo_simulation_linux_test.go  many conversations at random, in memory
//
// Both sides send frames: the number of the exchange (2 bytes), a kind, the length of the payload (2 bytes), the payload. The
// client sends frameOpen with a name first, then frameData, and then frameEnd or, at any time, frameReset. The server sends
// frames of the same kinds. Its last frame for an exchange is frameEnd, whose payload sums up what the handler has seen, or
// frameReset with a reason. frameAway holds the number of the last exchange that the server is going to serve.
const (
	frameOpen  = 'O'
	frameData  = 'D'
	frameEnd   = 'E'
	frameReset = 'R'
	frameAway  = 'G'

	frameHead = 5
	mostOpen  = 16
	mostBody  = 64 << 10 // unread, of an exchange
)

// Reasons in frameReset.
const (
	reasonReset    = "reset"
	reasonDeadline = "deadline"
	reasonLate     = "late"
	reasonPanic    = "panic"
	reasonMany     = "too many"
	reasonBody     = "too large"
)

func appendFrame(b []byte, id uint16, kind byte, payload string) []byte {
	b = binary.BigEndian.AppendUint16(b, id)
	b = append(b, kind)
	b = binary.BigEndian.AppendUint16(b, uint16(len(payload)))
	return append(b, payload...)
}

// frame is a frame that was read. Its payload is a copy.
type frame struct {
	id      uint16
	kind    byte
	payload string
}

// cutFrame returns the first frame in b and the bytes behind it. It reports false if the frame is not complete.
func cutFrame(b []byte) (f frame, rest []byte, ok bool) {
	if len(b) < frameHead {
		return f, b, false
	}
	end := frameHead + int(binary.BigEndian.Uint16(b[3:]))
	if len(b) < end {
		return f, b, false
	}
	return frame{binary.BigEndian.Uint16(b), b[2], string(b[frameHead:end])}, b[end:], true
}

// bodyOf returns a body of n bytes. Exchanges with different names have different bodies.
func bodyOf(name string, n int) []byte {
	h := crc32.ChecksumIEEE([]byte(name))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(h>>(8*(i%4))) + byte(i*7) + byte(i>>8)
	}
	return b
}

// summary is what a handler has seen.
func summary(name string, body []byte) string {
	return fmt.Sprintf("%s: %d bytes, %08x", name, len(body), crc32.ChecksumIEEE(body))
}

// command returns the parts of a name: a word, an argument, and anything. A word has a place for the predictor.
func command(name string) (word, arg string) {
	word, rest, _ := strings.Cut(name, " ")
	arg, _, _ = strings.Cut(rest, " ")
	return word, arg
}

// afterDeadline returns a word without the deadline before it, such as 20ms@.
func afterDeadline(word string) string { return word[strings.IndexByte(word, '@')+1:] }
