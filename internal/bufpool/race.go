//go:build race

package bufpool

// Poisons says whether memory that is given back is overwritten with [Poison]: in
// race builds, which are the ones that developers test with, and slow already.
const Poisons = true
