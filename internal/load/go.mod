module github.com/gallop-http/gallop/internal/load

go 1.26.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/gallop-http/gallop v0.0.0-00010101000000-000000000000
)

require (
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace github.com/gallop-http/gallop => ../../
