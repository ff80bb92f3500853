module github.com/gallop-http/gallop/cmd/gallop-load

go 1.26.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/expr-lang/expr v1.17.8
)

require (
	github.com/andybalholm/brotli v1.2.7 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/molecule-man/go-brrr v1.3.1 // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

require (
	github.com/gallop-http/gallop v0.0.0-00010101000000-000000000000
	github.com/goccy/go-yaml v1.19.2
)

replace github.com/gallop-http/gallop => ../../
