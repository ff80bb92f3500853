package hpack

import "math"

// Decoder has the state of one direction of a connection: the dynamic table that the peer's encoder fills. Call Init before
// use. A Decoder is not safe for concurrent use.
//
// Decode all field blocks of a connection in the order of their arrival, and each of them to its end. That includes blocks
// of streams that were refused or reset, because each block may change the table (RFC 9113 §4.3). Do not use a Decoder
// after [Block.Err] has returned an error.
type Decoder struct {
	table table

	allowed uint32 // the largest size that a table size update may set
	due     uint32 // the next block must begin with a table size update of at most this size; notDue if it need not
}

const notDue = math.MaxUint32

// Init prepares d for a new connection, with a table of DefaultTableSize.
func (d *Decoder) Init() {
	*d = Decoder{allowed: DefaultTableSize, due: notDue}
	d.table.setMax(DefaultTableSize)
}

// Free gives back the memory of the table. d must not be used any more.
func (d *Decoder) Free() { d.table.free() }

// SetMaxTableSize makes n the largest table that the peer may use, at most [MaxTableSize]. Call it when the peer has
// acknowledged SETTINGS_HEADER_TABLE_SIZE. A larger size may also take effect when the setting is sent.
//
// If the peer uses a larger table at that time, its next block must begin with a table size update (RFC 9113 §4.3.1).
func (d *Decoder) SetMaxTableSize(n int) {
	d.allowed = uint32(min(n, MaxTableSize))
	if d.allowed < d.table.max {
		d.due = d.allowed
		d.table.setMax(int(d.allowed))
	}
}

// Generation returns a number that changes whenever the table changes. If it is equal before two equal blocks, and the
// first one did not change it, both blocks have the same fields. A caller can therefore remember what a block means.
func (d *Decoder) Generation() uint64 { return uint64(d.table.changes) }

// Start makes b ready to decode the field block in, which must be complete: the fragments of HEADERS and all CONTINUATION
// frames (RFC 9113 §4.3). The caller limits the length of the block. in and lim must not change while b is in use. The
// fields' bytes are appended to b.Out, which Start leaves alone.
func (d *Decoder) Start(b *Block, in []byte, lim *Limits) {
	b.d, b.in, b.limits = d, in, lim
	b.at, b.size, b.list, b.count, b.updates = 0, 0, int64(lim.List), 0, 0
	b.err, b.excess = nil, nil
	if d.due != notDue && (len(in) == 0 || in[0]>>5 != 1) {
		b.fail(ErrSizeUpdateMissing)
	}
}
