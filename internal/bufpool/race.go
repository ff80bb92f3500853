//go:build race

package bufpool

// Race builds are the ones that developers test with, and slow already.
const poisonOnPut = true
