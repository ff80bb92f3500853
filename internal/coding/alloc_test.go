//go:build !race

package coding

import (
	"bytes"
	"io"
	"runtime/debug"
	"testing"
)

func TestNothingIsAllocatedOnceThePoolsAreFull(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	body := samples()["text"]
	buf := make([]byte, 64<<10)
	in := bytes.NewReader(nil)
	for _, c := range real {
		src := AppendEncode(nil, body, c, DefaultLevel)
		for name, f := range map[string]func(){
			"append":  func() { AppendEncode(buf[:0], body, c, DefaultLevel) },
			"write":   func() { z := AcquireWriter(c, DefaultLevel, io.Discard); z.Write(body); z.Close(); ReleaseWriter(z) },
			"decode":  func() { AppendDecode(buf[:0], src, ListOf(c), Limits{}) },
			"to":      func() { Decode(io.Discard, src, ListOf(c), Limits{}) },
			"parsing": func() { var l List; l.Add([]byte("gzip, br")) },
			"read": func() {
				in.Reset(src)
				r := AcquireReader(ListOf(c), in, Limits{})
				for {
					if _, err := r.Read(buf); err != nil {
						break
					}
				}
				ReleaseReader(r)
			},
		} {
			most := 0.0
			if c == Brotli && (name == "decode" || name == "to" || name == "read") {
				most = 3 // the library's context maps, made anew for every body
			}
			if n := testing.AllocsPerRun(50, f); n > most {
				t.Errorf("%v %s: %v allocations, want at most %v", c, name, n, most)
			}
		}
	}
}
