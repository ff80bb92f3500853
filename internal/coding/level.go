package coding

import "math"

// DefaultLevel asks for the level that suits answers made on the fly. So does
// every level outside a coding's scale, which is -2 to 9 for Gzip and Deflate (-2
// Huffman only, -1 the default, 0 stored), 0 to 11 for Brotli and 1 to 4 for Zstd.
const DefaultLevel = math.MinInt

// scale is what levels a coding has.
type scale struct{ least, most, usual int }

var scales = [codings]scale{
	Identity: {},
	Gzip:     {-2, 9, 6},
	Deflate:  {-2, 9, 6},
	Brotli:   {0, 11, 4},
	Zstd:     {1, 4, 2},
}

// maxLevels is the number of levels of the longest scale.
const maxLevels = 12

// clamp returns level, or the default where the coding has no such level. Each
// level has one spelling, so that it has one pool.
func (c Coding) clamp(level int) int {
	s := scales[c]
	if level < s.least || level > s.most || s.least < -1 && level == -1 {
		return s.usual
	}
	return level
}
