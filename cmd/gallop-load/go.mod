module github.com/gallop-http/gallop/cmd/gallop-load

go 1.26.0

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	golang.org/x/term v0.48.0
)

require golang.org/x/sys v0.50.0 // indirect

replace github.com/gallop-http/gallop => ../../
