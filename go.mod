module github.com/gallop-http/gallop

go 1.25.0

require (
	github.com/andybalholm/brotli v1.2.7
	github.com/klauspost/compress v1.20.3
	github.com/molecule-man/go-brrr v1.3.1
	golang.org/x/net v0.58.0
)

require golang.org/x/text v0.41.0 // indirect
