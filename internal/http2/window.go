package http2

// sendWindow is how many bytes of DATA may be sent (RFC 9113 §6.9). The window of a stream becomes negative if the peer
// reduces SETTINGS_INITIAL_WINDOW_SIZE.
type sendWindow int32

// add changes the window by n. It reports false, and changes nothing, if the window would exceed 2^31-1.
func (w *sendWindow) add(n int64) bool {
	sum := int64(*w) + n
	if sum > maxWindow {
		return false
	}
	*w = sendWindow(sum)
	return true
}

// progress is how a stream that sends DATA gets on.
type progress struct {
	at         int64 // when DATA was last sent, or the stream began to wait
	uncredited int32 // bytes that were sent, and for which the peer has given no credit
}

func (p *progress) sent(n int, now int64) {
	p.at = now
	p.uncredited += int32(n) // at most the largest window
}

func (p *progress) credit(n int64) { p.uncredited = int32(max(int64(p.uncredited)-n, 0)) }

// recvWindow is how many bytes of DATA the peer may send, and how many were consumed since the peer last heard of it.
//
//	size = open + owed + bytes that arrived and are not consumed yet
//
// The peer gets credit when half of the size is owed. A WINDOW_UPDATE for each read would cost both sides more than the
// bytes are worth.
type recvWindow struct {
	open int32 // bytes that the peer may still send; negative after the size was reduced
	owed int32 // bytes that were consumed and not given back
	size int32
}

func newRecvWindow(size int32) recvWindow { return recvWindow{open: size, size: size} }

// take counts n bytes that arrived. It reports false, and changes nothing, if the peer exceeds the window.
func (w *recvWindow) take(n int32) bool {
	if n > w.open {
		return false
	}
	w.open -= n
	return true
}

// give counts n bytes that were consumed, and returns the increment that is due, or 0.
func (w *recvWindow) give(n int32) (increment uint32) {
	w.owed += n
	if w.owed < w.size/2 || w.owed == 0 {
		return 0
	}
	return w.flush()
}

// flush returns everything that is owed as an increment.
func (w *recvWindow) flush() (increment uint32) {
	n := w.owed
	w.open += n
	w.owed = 0
	return uint32(n)
}

// grow makes the window larger, and returns the increment that is due, or 0.
func (w *recvWindow) grow(size int32) (increment uint32) {
	if size <= w.size {
		return 0
	}
	w.owed += size - w.size
	w.size = size
	return w.flush()
}

// resize applies a new SETTINGS_INITIAL_WINDOW_SIZE that the peer has acknowledged (RFC 9113 §6.9.2). A window that has grown
// since the stream was opened changes by the same difference. It returns the increment that is due, or 0.
// If the size shrinks, half of the new size may be owed already.
func (w *recvWindow) resize(difference int32) (increment uint32) {
	w.open += difference
	w.size += difference
	return w.give(0)
}
