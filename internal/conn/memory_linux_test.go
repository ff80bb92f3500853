package conn

import (
	"math/bits"
	"reflect"
	"testing"
)

// An idle connection is a LoopConn and its socket. The allocator has a size class of 224 bytes, and the next larger one would
// cost each connection 16 bytes more.
func TestLoopConnIsSmall(t *testing.T) {
	if bits.UintSize != 64 {
		t.Skip("pointers are small")
	}
	if n := reflect.TypeFor[LoopConn]().Size(); n > 224 {
		t.Errorf("a LoopConn has %d bytes", n)
	} else {
		t.Logf("%d bytes", n)
	}
}
