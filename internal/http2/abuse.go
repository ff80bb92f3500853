package http2

// Everything that a peer can make this side do without a request that is worth it has a bucket of tokens. An event takes
// tokens from its bucket. Time and useful work put tokens back. If a bucket is empty, the connection fails with the error of
// the bucket. The attacks that each bucket stops are named beside it.
//
// Limits that need no time are elsewhere: header blocks in block.go, unsent output in output.go, streams in stream_table.go.

// bucketKind is a kind of bucket.
type bucketKind uint8

const (
	// earlyEnds counts streams that ended before their response, because the peer reset them or made this side reset
	// them, and streams that were refused: Rapid Reset (CVE-2023-44487), MadeYouReset (CVE-2025-8671), reset flood
	// (CVE-2019-9514). Each complete response puts a token back, so a busy client may cancel many requests.
	earlyEnds bucketKind = iota

	// controlFrames counts frames that belong to no message: floods of PING, SETTINGS, PRIORITY, WINDOW_UPDATE and of
	// unknown frames (CVE-2019-9512, -9513, -9515), and frames on closed streams. Requests put tokens
	// back. DATA frames that this side sends do as well, because gRPC sends a PING for each round trip with data.
	controlFrames

	// emptyData counts DATA frames without data and without END_STREAM (CVE-2019-9518). Two in a row are free.
	emptyData

	// tinyData counts DATA frames with less than tinyFrame bytes. They cost time, but no more memory than others. gRPC sends
	// many of them, so the burst is what a window of 4 MB may hold. Each byte that a program gets puts a token back, as it is
	// read or with the complete body. A client that sends small messages to a program is thus not limited. Requests put tokens
	// back as well, and larger frames one for each tinyFrame bytes. Time puts few back, because a busy server reads only a few
	// frames per second, and has to end a flood too.
	tinyData

	// tinyWindows counts DATA frames of this side that are tiny because of the peer's window (CVE-2019-9511). Larger frames put
	// tokens back, because the last frame before a window is shut may be tiny by chance.
	tinyWindows

	buckets
)

// tinyFrame is the length in bytes below which a DATA frame is tiny.
const tinyFrame = 64

// bucketRules say how many tokens a bucket has, and how many it gets back per second.
var bucketRules = [buckets]struct {
	burst, perSecond int32
	err              *Error
}{
	earlyEnds:     {100, 33, ErrEarlyResets}, // and twice MaxConcurrentStreams
	controlFrames: {1000, 100, ErrControlFlood},
	emptyData:     {100, 10, ErrEmptyData},
	tinyData:      {250_000, 5000, ErrTinyData},
	tinyWindows:   {1000, 50, ErrTinyWindows},
}

// perRequest is how many tokens a request puts back into controlFrames, and into tinyData.
const perRequest = 32

// abuse has the buckets of a connection. It stores how many tokens each bucket lacks, so only take has to know how many there
// are in a full one.
type abuse struct {
	last    int64          // when the buckets got tokens for the time that has passed, in nanoseconds
	missing [buckets]int32 // in thousandths of tokens
	streams uint16         // each of them adds two tokens to a full bucket of earlyEnds
	empty   uint8          // empty DATA frames in a row, up to 2
}

const thousand = 1000

// init fills the buckets of a connection with this many streams.
func (a *abuse) init(streams uint32) {
	a.missing = [buckets]int32{}
	a.streams = uint16(min(streams, 1<<16-1))
}

// full returns how many thousandths of tokens a full bucket has.
func (a *abuse) full(k bucketKind) int32 {
	n := bucketRules[k].burst
	if k == earlyEnds {
		n += 2 * int32(a.streams)
	}
	return n * thousand
}

// tick puts the tokens back that are due at now.
func (a *abuse) tick(now int64) {
	ms := (now - a.last) / 1e6
	if ms <= 0 {
		return
	}
	a.last += ms * 1e6
	for k := range a.missing {
		a.missing[k] = int32(max(int64(a.missing[k])-ms*int64(bucketRules[k].perSecond), 0))
	}
}

// take takes n tokens. It returns the error of the bucket if there are not enough.
func (a *abuse) take(k bucketKind, n int32) *Error {
	missing := a.missing[k] + n*thousand
	if missing > bucketRules[k].burst*thousand && missing > a.full(k) { // most of the time, the burst is enough
		return bucketRules[k].err
	}
	a.missing[k] = missing
	return nil
}

// put puts n tokens back.
func (a *abuse) put(k bucketKind, n int32) { a.missing[k] = max(a.missing[k]-n*thousand, 0) }

// data counts a DATA frame with n bytes of data.
func (a *abuse) data(n int, end bool) *Error {
	switch {
	case n >= tinyFrame:
		a.empty = 0
		a.put(tinyData, int32(n/tinyFrame))
		return nil
	case end:
		a.empty = 0
		return nil
	case n > 0:
		a.empty = 0
		return a.take(tinyData, 1)
	case a.empty < 2:
		a.empty++
		return nil
	}
	return a.take(emptyData, 1)
}
