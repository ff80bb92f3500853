package codec_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow to four times the memory in use, because these tests allocate much and keep little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
