//go:build !race

package bufpool

// Poisons reports whether released memory is overwritten with [Poison]. This build does not.
const Poisons = false
