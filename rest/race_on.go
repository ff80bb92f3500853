//go:build race

package rest

// poisons is whether buffers are overwritten when they are given back.
const poisons = true
