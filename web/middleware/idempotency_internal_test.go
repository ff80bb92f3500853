package middleware

import (
	"bytes"
	"testing"
)

// FuzzIdempotencyRecord reads records of any bytes. A record that can be read is written in the same way again.
func FuzzIdempotencyRecord(f *testing.F) {
	f.Add(idempotencyRecord{state: stateRunning, owner: []byte("o")}.appendTo(nil))
	f.Add(idempotencyRecord{state: stateNotKept}.appendTo(nil))
	var lines []byte
	for _, text := range []string{"A", "1", "A", "2"} {
		lines = appendText(lines, text)
	}
	f.Add(idempotencyRecord{state: stateDone, status: 201, body: []byte("b"), lines: lines}.appendTo(nil))
	f.Add(idempotencyRecord{state: stateDone, status: 201, lines: appendText(lines, "a name without a value")}.appendTo(nil))
	f.Add([]byte{})
	f.Add(append(idempotencyRecord{state: stateRunning}.appendTo(nil), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeIdempotency(b)
		if err != nil || r.state != stateDone {
			return
		}
		again, err := decodeIdempotency(r.appendTo(nil))
		if err != nil || !bytes.Equal(again.appendTo(nil), r.appendTo(nil)) || again.status != r.status || len(again.lines) != len(r.lines) {
			t.Errorf("%x: %+v, then %+v (%v)", b, r, again, err)
		}
	})
}
