package gallop

// maxKeptBuffer is the capacity up to which Reset keeps the buffers of URI, Args and Cookie, so that one large
// message does not stay in the pools.
const maxKeptBuffer = 64 << 10

// emptied returns b with length 0, or nil if its capacity is too large to keep.
func emptied(b []byte) []byte {
	if cap(b) > maxKeptBuffer {
		return nil
	}
	return b[:0]
}

// noCopy makes `go vet` report copies of the struct that contains it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
