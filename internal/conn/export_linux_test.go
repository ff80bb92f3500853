package conn

// HoldsBuffer reports whether the Pusher has a buffer.
func (p Pusher) HoldsBuffer() bool {
	if p.tls == nil {
		return false
	}
	p.tls.mu.Lock()
	defer p.tls.mu.Unlock()
	return p.tls.unsent != nil
}

// The most bytes that a Pusher holds.
const (
	MostPushed  = 64 << 10
	MostRecords = mostRecords
)

// LingerIdle is how long a closing connection waits for its client to take something.
const LingerIdle = lingerIdle
