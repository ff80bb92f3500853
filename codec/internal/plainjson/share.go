package plainjson

// Small values of a long text share blocks of memory, because allocating them takes longer than reading them. A value
// that is kept keeps its block alive, so blocks are small, and short texts do not use blocks.
//
//	strings      up to 64 bytes of text, in blocks of 512 bytes
//	any strings  up to 256 bytes of text, 16 per block
//	any numbers  32 per block
const (
	leastSharing = 16 << 10 // bytes of text

	maxText    = 64
	textBlock  = 512
	maxBoxed   = 256
	boxBlock   = 16
	floatBlock = 32
)

// shared holds the unused rest of the blocks.
type shared struct {
	texts  []byte
	boxes  []string
	floats []float64
	values [256]any // strings, in the slots of placeOf
}

// text returns b as a string.
func (s *shared) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > cap(s.texts)-len(s.texts) {
		s.texts = make([]byte, 0, textBlock)
	}
	from := len(s.texts)
	s.texts = append(s.texts, b...)
	return asString(s.texts[from:])
}

// boxedText returns b as an any. Like names, many strings are repeated, so it returns the previous any if that has
// the same string.
func (d *decoder) boxedText(b []byte) any {
	if !d.shares || len(b) > maxBoxed {
		return d.kept(b)
	}
	if len(b) == 0 || len(b) > maxName {
		return box(&d.shared.boxes, boxBlock, d.kept(b))
	}
	place := &d.shared.values[placeOf(b)]
	if text, ok := (*place).(string); !ok || text != string(b) {
		*place = box(&d.shared.boxes, boxBlock, d.kept(b))
	}
	return *place
}

// boxedNumber returns f as an any.
func (d *decoder) boxedNumber(f float64) any {
	if !d.shares {
		return f
	}
	return box(&d.shared.floats, floatBlock, f)
}

// box returns v as an any that points into a block of n values.
func box[T string | float64](block *[]T, n int, v T) any {
	if len(*block) == cap(*block) {
		*block = make([]T, 0, n)
	}
	*block = append(*block, v)
	return asAny(&(*block)[len(*block)-1])
}
