//go:build !race

package gallop

const raceEnabled = false
