package plainjson

// pile holds the elements of a list until their number is known, so that the list can be allocated in its exact size.
// The first few are in an array. The rest is on a stack that piles share, from base on. If there are many, they move
// from the stack to parts.
type pile[T any] struct {
	first [few]T
	n     int // number of elements in first
	base  int
	parts [][]T
}

const (
	few  = 8
	many = 1024
)

func (p *pile[T]) add(stack *[]T, one T) {
	if p.n < few {
		p.first[p.n] = one
		p.n++
		return
	}
	if *stack = append(*stack, one); len(*stack)-p.base == many {
		p.parts = append(p.parts, append(make([]T, 0, many), (*stack)[p.base:]...))
		p.pop(stack)
	}
}

func (p *pile[T]) pop(stack *[]T) {
	clear((*stack)[p.base:])
	*stack = (*stack)[:p.base]
}

// list returns the elements, and removes those on the stack.
func (p *pile[T]) list(stack *[]T) []T {
	last := (*stack)[p.base:]
	list := make([]T, 0, p.n+len(p.parts)*many+len(last))
	list = append(list, p.first[:p.n]...)
	for _, part := range p.parts {
		list = append(list, part...)
	}
	list = append(list, last...)
	p.pop(stack)
	return list
}
