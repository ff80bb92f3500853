module github.com/gallop-http/gallop/cmd/gallop-load

go 1.26.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/expr-lang/expr v1.17.8
)

replace github.com/gallop-http/gallop => ../../
