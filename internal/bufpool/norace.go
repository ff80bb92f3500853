//go:build !race

package bufpool

// Poisons says whether memory that is given back is overwritten with [Poison]: not
// in this build.
const Poisons = false
