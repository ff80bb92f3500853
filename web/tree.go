package web

import (
	"bytes"
	"slices"
)

// node is a place in the radix tree of the routes of one method. What leads to it is the
// text and the parameters of the nodes above it, and then its own text.
//
// At each place there are four ways on, and they are tried in this order: the child
// whose text the path goes on with, the parameters, of which those with text behind them
// come first, then those with constraints, and the rest of the path. A node has one
// parent, and how far the path was read when it is reached is the same each time; so
// no node is looked at twice, whatever the path is.
type node struct {
	text     string
	first    []byte // of each child, the first byte of its text
	children []*node
	params   []*paramEdge
	rest     *Route // for what is left of the path, also if that is nothing
	route    *Route // for a path that ends here
}

// paramEdge is a parameter, and what follows it.
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

// find returns the route for a path, nil if there is none, and puts the values of its
// parameters into values, from depth on.
func (n *node) find(path []byte, values *[maxParams][]byte, depth int) *Route {
	for {
		if len(path) < len(n.text) || string(path[:len(n.text)]) != n.text {
			return nil
		}
		if path = path[len(n.text):]; len(path) == 0 {
			return n.end(path, values, depth)
		}
		child := n.child(path[0])
		if len(n.params) == 0 && n.rest == nil {
			if child == nil {
				return nil
			}
			n = child // there is no other way: no need to come back
			continue
		}
		if child != nil {
			if r := child.find(path, values, depth); r != nil {
				return r
			}
		}
		if len(n.params) == 1 && n.rest == nil {
			edge := n.params[0]
			behind, ok := edge.match(path, &values[depth])
			if !ok {
				return nil
			}
			n, path, depth = &edge.below, behind, depth+1
			continue
		}
		return n.findParam(path, values, depth)
	}
}

// findParam is find for the parameters of n, and its rest.
func (n *node) findParam(path []byte, values *[maxParams][]byte, depth int) *Route {
	for _, edge := range n.params {
		if behind, ok := edge.match(path, &values[depth]); ok {
			if r := edge.below.find(behind, values, depth+1); r != nil {
				return r
			}
		}
	}
	return n.end(path, values, depth)
}

// end returns the route for a path that has nothing left but what a rest may be.
func (n *node) end(path []byte, values *[maxParams][]byte, depth int) *Route {
	if len(path) == 0 && n.route != nil {
		return n.route
	}
	if n.rest != nil {
		values[depth] = path
	}
	return n.rest
}

// child returns the child whose text begins with c, nil if there is none.
func (n *node) child(c byte) *node {
	for i, first := range n.first {
		if first == c {
			return n.children[i]
		}
	}
	return nil
}

// match cuts the value of the parameter off the path.
func (e *paramEdge) match(path []byte, value *[]byte) (behind []byte, ok bool) {
	end := bytes.IndexByte(path, '/')
	if end < 0 {
		end = len(path)
	}
	if len(e.behind) > 0 {
		end = bytes.Index(path[:end], e.behind)
	}
	if end <= 0 {
		return nil, false
	}
	*value = path[:end]
	for _, c := range e.constraints {
		if !c(path[:end]) {
			return nil, false
		}
	}
	return path[end+len(e.text):], true
}
