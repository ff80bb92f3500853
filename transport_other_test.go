//go:build !linux

package gallop_test

var allTransports = []transport{goroutines}
