package bufpool

// Poison is the byte with which released memory is overwritten. It is not ASCII, not valid UTF-8, and easy to see in
// a dump.
const Poison byte = 0xDB

// PoisonBytes overwrites b up to its capacity with [Poison].
func PoisonBytes(b []byte) {
	b = b[:cap(b)]
	if len(b) == 0 {
		return
	}
	b[0] = Poison
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}
