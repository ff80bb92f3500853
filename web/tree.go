package web

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
)

// node is a node in the radix tree of the routes of one method. The path to a node is a slash, then the text and the parameters of
// the nodes above it, then its own text.
//
// A search tries the edges of a node in this order:
//
//  1. the child whose text continues the path
//  2. parameters with text behind them
//  3. parameters with constraints
//  4. the plain parameter, which has neither
//  5. the rest of the path
//
// A node has one parent, and a search always reaches it at the same position in the path. Therefore no search visits a node twice.
type node struct {
	text, mask uint64  // up to eight bytes, the first one lowest; mask has 0xFF for each byte
	children   []*node // indexed by the first byte of their text minus low; nil where there is none
	plain      *node   // behind a plain parameter: a node without text and with at most one child, whose text begins with a slash
	route      *Route  // for a path that ends here
	size       uint8   // the length of text; 0 only for the root and behind parameters
	low        byte
	special    bool // there are params or rest
	params     []*paramEdge
	rest       *Route // matches the remaining path, even if that is empty
}

// span is the position of a parameter's value in a path or a host.
type span struct{ start, end int32 }

// in returns the value in b.
func (s span) in(b []byte) []byte { return b[s.start:s.end:s.end] }

// spans are the values of the parameters of a route, those of the host first.
type spans [maxParams]span

// paramEdge is a parameter with constraints or with text behind it.
type paramEdge struct {
	part
	behind []byte // the text of part
	below  node   // the node behind it, without text
}

// add adds a route to the tree with the root n. If the tree has a route for the same paths already, add returns that route.
func (n *node) add(p pattern, r *Route) (other *Route) {
	for i, part := range p {
		switch part.kind {
		case textPart:
			if i == 0 {
				part.text = part.text[1:] // the slash
			}
			n = n.addText(part.text)
		case paramPart:
			n = n.addParam(part)
		case restPart:
			if n.rest == nil {
				n.rest, n.special = r, true
				return nil
			}
			return n.rest
		}
	}
	if n.route == nil {
		n.route = r
		return nil
	}
	return n.route
}

// addText returns the node behind the text below n. It makes the nodes that are missing.
func (n *node) addText(text string) *node {
	for text != "" {
		child := n.child(text[0])
		if child == nil {
			child = newNode(wordOf(text), min(len(text), 8))
			n.addChild(child)
		}
		same := min(bits.TrailingZeros64(child.text^wordOf(text))/8, int(child.size), len(text))
		if same < int(child.size) {
			below := *child
			below.cut(same)
			*child = *newNode(child.text, same)
			child.addChild(&below)
		}
		n, text = child, text[same:]
	}
	return n
}

// newNode returns a node whose text is the first bytes of a word.
func newNode(text uint64, size int) *node {
	mask := ^uint64(0) >> (64 - 8*size)
	return &node{text: text & mask, mask: mask, size: uint8(size)}
}

// cut removes the first bytes of the text.
func (n *node) cut(size int) {
	n.text, n.mask, n.size = n.text>>(8*size), n.mask>>(8*size), n.size-uint8(size)
}

// addChild adds a child. No other child of n has a text that begins with the same byte.
func (n *node) addChild(child *node) {
	first := byte(child.text)
	if len(n.children) == 0 {
		n.low = first
	}
	if first < n.low {
		n.children = append(make([]*node, n.low-first), n.children...)
		n.low = first
	}
	for int(first-n.low) >= len(n.children) {
		n.children = append(n.children, nil)
	}
	n.children[first-n.low] = child
}

// child returns the child whose text begins with the byte, or nil.
func (n *node) child(first byte) *node {
	if i := int(first) - int(n.low); uint(i) < uint(len(n.children)) {
		return n.children[i]
	}
	return nil
}

// addParam returns the node behind a parameter below n. It makes the node if it is missing.
func (n *node) addParam(p part) *node {
	if p.text == "" && len(p.constraints) == 0 {
		if n.plain == nil {
			n.plain = &node{}
		}
		return n.plain
	}
	for _, edge := range n.params {
		if edge.text == p.text && edge.spelled == p.spelled && slices.Equal(edge.own, p.own) {
			return &edge.below
		}
	}
	edge := &paramEdge{part: p, behind: []byte(p.text)}
	n.params, n.special = append(n.params, edge), true
	slices.SortStableFunc(n.params, func(a, b *paramEdge) int {
		if d := len(b.text) - len(a.text); d != 0 {
			return d
		}
		return min(len(b.constraints), 1) - min(len(a.constraints), 1)
	})
	return &edge.below
}

// find returns the route for the path, or nil. It stores the parameters in values, beginning at depth. n is the root.
func (n *node) find(path []byte, values *spans, depth int) *Route {
	if len(path) == 0 || path[0] != '/' {
		return nil
	}
	return n.findFrom(path, 1, values, depth)
}

// findFrom continues a search at n, whose text ends at position i of the path.
func (n *node) findFrom(path []byte, i int, values *spans, depth int) *Route {
	for i < len(path) {
		next := word(path, i)
		if child := n.child(byte(next)); child != nil && child.begins(next, len(path)-i) {
			behind := i + int(child.size)
			if n.plain == nil && !n.special {
				n, i = child, behind // there is no other edge, so no need to come back
				continue
			}
			if r := child.findFrom(path, behind, values, depth); r != nil {
				return r
			}
		}
		if n.special {
			return n.findSpecial(path, i, values, depth)
		}
		end := i + slashIn(next)
		if end == i+8 {
			end = segmentEnd(path, end)
		}
		if n.plain == nil || end == i {
			return nil
		}
		values[depth] = span{int32(i), int32(end)}
		n = n.plain
		if end == len(path) {
			return n.route
		}
		if len(n.children) == 0 || !n.children[0].begins(word(path, end), len(path)-end) {
			return nil
		}
		n, i, depth = n.children[0], end+int(n.children[0].size), depth+1
	}
	if n.route == nil && n.rest != nil {
		values[depth] = span{int32(i), int32(len(path))}
		return n.rest
	}
	return n.route
}

// findSpecial continues a search at n without its children.
func (n *node) findSpecial(path []byte, i int, values *spans, depth int) *Route {
	for _, edge := range n.params {
		if behind, ok := edge.match(path, i, &values[depth]); ok {
			if r := edge.below.findFrom(path, behind, values, depth+1); r != nil {
				return r
			}
		}
	}
	if end := segmentEnd(path, i); n.plain != nil && end > i {
		if r := n.plain.findFrom(path, end, values, depth+1); r != nil {
			values[depth] = span{int32(i), int32(end)}
			return r
		}
	}
	if n.rest != nil {
		values[depth] = span{int32(i), int32(len(path))}
	}
	return n.rest
}

// begins reports whether the rest of the path begins with the text of n. left has its first bytes, and size is its length.
func (n *node) begins(left uint64, size int) bool {
	return (left^n.text)&n.mask == 0 && size >= int(n.size)
}

// segmentEnd returns the end of the segment that begins at i.
func segmentEnd(path []byte, i int) int {
	for ; i < len(path); i += 8 {
		if at := slashIn(word(path, i)); at < 8 {
			return i + at
		}
	}
	return len(path)
}

// word returns the eight bytes at i as a number, the first one lowest. Bytes behind the end of path are 0.
func word(path []byte, i int) uint64 {
	if i+8 <= len(path) {
		return binary.LittleEndian.Uint64(path[i:])
	}
	return lastWord(path, i)
}

// lastWord returns the last bytes of path, fewer than eight, as a word.
func lastWord(path []byte, i int) (w uint64) {
	if from := len(path) - 8; from >= 0 {
		return binary.LittleEndian.Uint64(path[from:]) >> (8 * uint(i-from))
	}
	for at := len(path) - 1; at >= i; at-- {
		w = w<<8 | uint64(path[at])
	}
	return w
}

// wordOf returns the first eight bytes of the text.
func wordOf(text string) uint64 { return word([]byte(text), 0) }

// slashIn returns the index of the first slash in a word, or 8.
func slashIn(w uint64) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	w ^= '/' * ones
	return bits.TrailingZeros64((w-ones)&^w&highs) / 8 // the lowest bit set is in the first byte that is 0
}

// match stores the value of the parameter, which begins at i, and returns the position behind its text.
func (e *paramEdge) match(path []byte, i int, value *span) (behind int, ok bool) {
	end := segmentEnd(path, i)
	if len(e.behind) > 0 {
		end = i + bytes.Index(path[i:end], e.behind)
	}
	if end <= i {
		return 0, false
	}
	for _, c := range e.constraints {
		if !c(path[i:end]) {
			return 0, false
		}
	}
	*value = span{int32(i), int32(end)}
	return end + len(e.text), true
}
