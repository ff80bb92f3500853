package hpack

// Error says why a field block is refused. All Errors are the variables below, so they can be compared with ==, need no
// allocation and contain no bytes of the peer.
type Error struct {
	Reason string // what is wrong

	// Limit means that the block is valid but exceeds a limit of ours. The table of the Decoder is intact, so only the
	// stream fails. Any other Error is a connection error of type COMPRESSION_ERROR (RFC 9113 §4.3).
	Limit bool
}

func (e *Error) Error() string { return "hpack: " + e.Reason }

// Errors of field blocks that cannot be decoded. [Block.Err] returns them.
var (
	ErrIndex             = &Error{Reason: "index is 0 or beyond both tables (RFC 7541 §2.3.3)"}
	ErrInteger           = &Error{Reason: "integer has more than five bytes (RFC 7541 §5.1)"}
	ErrTruncated         = &Error{Reason: "block ends within a field (RFC 7541 §6)"}
	ErrHuffmanEOS        = &Error{Reason: "Huffman-coded string contains the EOS symbol (RFC 7541 §5.2)"}
	ErrHuffmanPadding    = &Error{Reason: "padding of a Huffman-coded string has more than 7 bits or a zero (RFC 7541 §5.2)"}
	ErrSizeUpdateLarge   = &Error{Reason: "table size update exceeds the announced maximum (RFC 7541 §6.3)"}
	ErrSizeUpdateLate    = &Error{Reason: "table size update after a field (RFC 7541 §4.2)"}
	ErrSizeUpdateMissing = &Error{Reason: "block after a reduced table size does not begin with a table size update (RFC 9113 §4.3.1)"}
	ErrSizeUpdates       = &Error{Reason: "more than two table size updates in a block (RFC 7541 §4.2)"}
)

// Errors of blocks that exceed one of the [Limits]. [Block.Excess] returns them.
var (
	ErrListTooLarge  = &Error{Reason: "header list is too large (RFC 9113 §10.5.1)", Limit: true}
	ErrTooManyFields = &Error{Reason: "too many fields (RFC 6585 §5)", Limit: true}
	ErrStringTooLong = &Error{Reason: "name or value is too long (RFC 6585 §5)", Limit: true}
)

// ErrListFarTooLarge ends a block that exceeds [Block.MaxSize]. [Block.Err] returns it.
var ErrListFarTooLarge = &Error{Reason: "header list is far too large (RFC 9113 §10.5.1)", Limit: true}

// errorOf returns e as an error, which is nil if e is nil.
func errorOf(e *Error) error {
	if e == nil {
		return nil
	}
	return e
}
