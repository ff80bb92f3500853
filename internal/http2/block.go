package http2

// assembler collects the fragments of one header block: those of HEADERS and of CONTINUATION frames (RFC 9113 §4.3).
//
// A peer can send fragments forever (CVE-2024-27316 and others). The assembler therefore limits the bytes of a block, the
// number of its frames, and how many of them may be empty. A block in a single frame is decoded where it is, without a copy.
type assembler struct {
	stream uint32 // the stream of the unfinished block, or 0
	end    bool   // HEADERS had END_STREAM
	frames uint8
	empty  uint8
	block  *fragments // nil until a block takes more than one frame
}

// fragments are the parts of an unfinished block.
type fragments struct {
	verdict *Error // why the stream fails, as far as HEADERS shows; the block is decoded nevertheless
	buf     []byte
}

const (
	// maxContinuations is how many CONTINUATION frames may follow HEADERS.
	maxContinuations = 8

	// maxEmptyFragments is how many fragments of an unfinished block may be empty.
	maxEmptyFragments = 1

	// keptBlock is the capacity of the buffer that is kept for the next block.
	keptBlock = 16 << 10
)

// begin starts a block that continues in another frame.
func (a *assembler) begin(stream uint32, end bool, verdict *Error) {
	if a.block == nil {
		a.block = new(fragments)
	}
	a.stream, a.end, a.frames, a.empty = stream, end, 0, 0
	a.block.verdict, a.block.buf = verdict, a.block.buf[:0]
}

// add adds a fragment. limit is the maximum length of a block.
func (a *assembler) add(b []byte, limit int) *Error {
	if len(b) == 0 {
		a.empty++
	}
	switch {
	case len(a.block.buf)+len(b) > limit:
		return ErrBlockTooLarge
	case a.frames > maxContinuations || a.empty > maxEmptyFragments:
		return ErrContinuations
	}
	a.frames++
	a.block.buf = append(a.block.buf, b...)
	return nil
}

// finish ends the block. The result of add stays valid until the next block begins.
func (a *assembler) finish() {
	a.stream = 0
	if cap(a.block.buf) > keptBlock {
		a.block = nil
	}
}

// shrink frees the memory of finished blocks.
func (a *assembler) shrink() {
	if a.stream == 0 {
		a.block = nil
	}
}
