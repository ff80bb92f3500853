package web

import (
	"bytes"
	"slices"
)

// node is a place in the radix tree of the routes of one method. What leads to it is the
// text and the parameters of the nodes above it, and then its own text.
//
// At each place there are five ways on, and they are tried in this order: the child
// with whose text the path goes on; the parameters that are not plain, of which those with
// text behind them come first, and then those with constraints; the plain one; and the rest of
// the path. A node has one parent, and how far the path was read when it is reached is the
// same each time; so no node is looked at twice, whatever the path is.
type node struct {
	text     string
	first    []byte // of each child, the first byte of its text
	children []*node
	params   []*paramEdge
	plain    *node  // behind a segment
	rest     *Route // for what is left of the path, also if that is nothing
	route    *Route // for a path that ends here
}

// paramEdge is a parameter that is not plain, and what follows it.
type paramEdge struct {
	part
	behind []byte // text of part
	below  node   // without text
}

// add puts a route into the tree. It returns the route that is there already for the same
// paths, if there is one.
func (n *node) add(p pattern, r *Route) (other *Route) {
	for _, part := range p {
		switch part.kind {
		case textPart:
			n = n.addText(part.text)
		case paramPart:
			n = n.addParam(part)
		case restPart:
			if n.rest == nil {
				n.rest = r
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

// addText returns the node that the text leads to from n, which is made if it is not there.
func (n *node) addText(text string) *node {
	for text != "" {
		i := bytes.IndexByte(n.first, text[0])
		if i < 0 {
			child := &node{text: text}
			n.first, n.children = append(n.first, text[0]), append(n.children, child)
			return child
		}
		child := n.children[i]
		same := samePrefix(child.text, text)
		if same < len(child.text) {
			below := *child
			below.text = child.text[same:]
			*child = node{text: child.text[:same], first: []byte{below.text[0]}, children: []*node{&below}}
		}
		n, text = child, text[same:]
	}
	return n
}

func samePrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// addParam is addText for a parameter.
func (n *node) addParam(p part) *node {
	if p.text == "" && len(p.constraints) == 0 {
		if n.plain == nil {
			n.plain = &node{}
		}
		return n.plain
	}
	for _, edge := range n.params {
		if edge.text == p.text && edge.spelled == p.spelled {
			return &edge.below
		}
	}
	edge := &paramEdge{part: p, behind: []byte(p.text)}
	n.params = append(n.params, edge)
	slices.SortStableFunc(n.params, func(a, b *paramEdge) int {
		if d := len(b.text) - len(a.text); d != 0 {
			return d
		}
		return min(len(b.constraints), 1) - min(len(a.constraints), 1)
	})
	return &edge.below
}

// find returns the route for what is left of a path behind n's text, nil if there is none, and
// puts the values of its parameters into values, from depth on.
func (n *node) find(path []byte, values *[maxParams][]byte, depth int) *Route {
	for len(path) > 0 {
		child, behind := n.child(path)
		if n.plain == nil && n.params == nil && n.rest == nil {
			if child == nil {
				return nil
			}
			n, path = child, behind // there is no other way: no need to come back
			continue
		}
		if child != nil {
			if r := child.find(behind, values, depth); r != nil {
				return r
			}
		}
		if n.plain == nil || n.params != nil || n.rest != nil {
			return n.findSpecial(path, values, depth)
		}
		end := segmentEnd(path)
		if end == 0 {
			return nil
		}
		values[depth] = path[:end]
		n, path, depth = n.plain, path[end:], depth+1
	}
	return n.end(path, values, depth)
}

// findSpecial is find without the children of n.
func (n *node) findSpecial(path []byte, values *[maxParams][]byte, depth int) *Route {
	for _, edge := range n.params {
		if behind, ok := edge.match(path, &values[depth]); ok {
			if r := edge.below.find(behind, values, depth+1); r != nil {
				return r
			}
		}
	}
	if end := segmentEnd(path); n.plain != nil && end > 0 {
		if r := n.plain.find(path[end:], values, depth+1); r != nil {
			values[depth] = path[:end]
			return r
		}
	}
	if n.rest != nil {
		values[depth] = path
	}
	return n.rest
}

// end returns the route for a path that has nothing left.
func (n *node) end(path []byte, values *[maxParams][]byte, depth int) *Route {
	if n.route == nil && n.rest != nil {
		values[depth] = path
		return n.rest
	}
	return n.route
}

// child returns the child whose text the path begins with, nil if there is none, and what is
// behind that text.
func (n *node) child(path []byte) (child *node, behind []byte) {
	for i, first := range n.first {
		if first != path[0] {
			continue
		}
		child = n.children[i]
		if size := len(child.text); len(path) >= size && string(path[:size]) == child.text {
			return child, path[size:]
		}
		break
	}
	return nil, nil
}

// segmentEnd returns the length of the segment that the path begins with.
func segmentEnd(path []byte) int {
	if i := bytes.IndexByte(path, '/'); i >= 0 {
		return i
	}
	return len(path)
}

// match cuts the value of the parameter off the path.
func (e *paramEdge) match(path []byte, value *[]byte) (behind []byte, ok bool) {
	end := segmentEnd(path)
	if len(e.behind) > 0 {
		end = bytes.Index(path[:end], e.behind)
	}
	if end <= 0 {
		return nil, false
	}
	for _, c := range e.constraints {
		if !c(path[:end]) {
			return nil, false
		}
	}
	*value = path[:end]
	return path[end+len(e.text):], true
}
