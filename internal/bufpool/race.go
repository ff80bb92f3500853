//go:build race

package bufpool

// Poisons reports whether released memory is overwritten with [Poison]. Race builds do, because developers test with
// them and they are slow anyway.
const Poisons = true
