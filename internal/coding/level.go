package coding

import "math"

// DefaultLevel selects a level that suits responses that are compressed on the fly. Levels outside a coding's scale
// do the same. The scale is -2 to 9 for Gzip and Deflate (-2: Huffman only, -1: default, 0: stored), 0 to 11 for
// Brotli and 1 to 4 for Zstd.
const DefaultLevel = math.MinInt

// scale is the range of a coding's levels, and its default.
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

// clamp returns level, or the default if the coding has no such level. Each level has only one number, so it has one
// pool.
func (c Coding) clamp(level int) int {
	s := scales[c]
	if level < s.least || level > s.most || s.least < -1 && level == -1 {
		return s.usual
	}
	return level
}
